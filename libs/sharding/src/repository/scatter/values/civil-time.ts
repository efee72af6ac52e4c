import { decimalOf } from './decimal.js';

const MICROS = 1_000_000n;
const DAY = 86_400n * MICROS;

/**
 * A timestamp as PostgreSQL reads it under every DateStyle: `2024-02-29 12:00:00.000001`, with ` BC` behind a year before
 * the first; `infinity`, `-infinity`. Never through a JavaScript `Date`, which has milliseconds.
 *
 * @param epoch seconds since 1970-01-01 as `extract(epoch from ...)` prints them
 * @param zone `+00` for a timestamptz
 */
export function timestampText(epoch: string, zone: '' | '+00' = ''): string {
  const micros = microsOf(epoch);
  if (typeof micros === 'string') return micros;
  const { date, era } = civil(floorDiv(micros, DAY));
  return `${date} ${clock(mod(micros, DAY))}${zone}${era}`;
}

/** The same for a date: `0044-03-15 BC`. */
export function dateText(epoch: string): string {
  const micros = microsOf(epoch);
  if (typeof micros === 'string') return micros;
  const { date, era } = civil(floorDiv(micros, DAY));
  return date + era;
}

/** The same for a time of day: `23:59:59.999999`, `24:00:00`. */
export function timeText(epoch: string): string {
  const micros = microsOf(epoch);
  return typeof micros === 'string' ? micros : clock(micros);
}

function microsOf(epoch: string): bigint | 'infinity' | '-infinity' {
  const seconds = decimalOf(epoch);
  if (typeof seconds === 'string') return seconds === 'Infinity' ? 'infinity' : '-infinity';
  return seconds.scale <= 6
    ? seconds.units * 10n ** BigInt(6 - seconds.scale)
    : seconds.units / 10n ** BigInt(seconds.scale - 6);
}

function clock(micros: bigint): string {
  const seconds = micros / MICROS;
  const parts = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n].map((part) => padded(part, 2));
  const fraction = micros % MICROS;
  return parts.join(':') + (fraction === 0n ? '' : `.${padded(fraction, 6).replace(/0+$/, '')}`);
}

/** The proleptic Gregorian date of a day number, 0 is 1970-01-01 (Howard Hinnant's `civil_from_days`). */
function civil(day: bigint): { date: string; era: '' | ' BC' } {
  const shifted = day + 719_468n; // from 0000-03-01
  const cycle = floorDiv(shifted, 146_097n); // of 400 years
  const dayOfCycle = shifted - cycle * 146_097n;
  const yearOfCycle = (dayOfCycle - dayOfCycle / 1460n + dayOfCycle / 36_524n - dayOfCycle / 146_096n) / 365n;
  const dayOfYear = dayOfCycle - (365n * yearOfCycle + yearOfCycle / 4n - yearOfCycle / 100n);
  const monthFromMarch = (5n * dayOfYear + 2n) / 153n;
  const dayOfMonth = dayOfYear - (153n * monthFromMarch + 2n) / 5n + 1n;
  const month = monthFromMarch < 10n ? monthFromMarch + 3n : monthFromMarch - 9n;
  const year = yearOfCycle + cycle * 400n + (month <= 2n ? 1n : 0n);
  const shown = year > 0n ? year : 1n - year; // the year before 1 is 1 BC
  return {
    date: `${padded(shown, 4)}-${padded(month, 2)}-${padded(dayOfMonth, 2)}`,
    era: year > 0n ? '' : ' BC',
  };
}

function padded(value: bigint, width: number): string {
  return value.toString().padStart(width, '0');
}

function floorDiv(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

function mod(a: bigint, b: bigint): bigint {
  return a - floorDiv(a, b) * b;
}
