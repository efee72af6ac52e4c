import type { ExpectedRows } from '@app/sharding/operator';

/** How far the copy of one table is. */
export interface TableProgress {
  readonly table: string;
  readonly bytes: number;
  readonly ms: number;
  readonly expected: ExpectedRows | undefined;
}

/** Of less nothing is concluded. */
const LEAST_MS = 500;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `12 MB of about 240 MB, 6 MB/s, about 48,000 rows/s, 38 s left`; what is not known is left out. */
export function estimateOf({ bytes, ms, expected }: TableProgress): string {
  const known = expected && expected.bytes > bytes ? expected : undefined; // the planner was wrong
  const rate = ms < LEAST_MS ? 0 : (bytes * 1000) / ms;
  return [
    `${bytesText(bytes)}${known ? ` of about ${bytesText(known.bytes)}` : ''}`,
    ...(rate > 0 ? [`${bytesText(rate)}/s`] : []),
    ...(rate > 0 && known ? [`about ${countText(rate * (known.rows / known.bytes), 'row')}/s`] : []),
    ...(rate > 0 && known ? [`${durationText((known.bytes - bytes) / rate)} left`] : []),
  ].join(', ');
}

export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** `1 row`, `48,000 rows`. */
export function countText(count: number, what: string): string {
  const whole = Math.round(count);
  return `${whole.toLocaleString('en-US')} ${what}${whole === 1 ? '' : 's'}`;
}

function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
