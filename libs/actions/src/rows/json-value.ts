import type { JsonValue } from './row-operation.js';

/** A value of the driver as JSON, from which PostgreSQL reads the same: by text where JSON has no such value. */
export function jsonValue(value: unknown): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Date) return dateText(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return value.map((one) => (one === undefined ? null : jsonValue(one)));
  if (typeof value === 'object' && writesItself(value)) return jsonValue(value.toPostgres());
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/** What the driver gives of an interval, say: it writes itself as text. */
function writesItself(value: object): value is { toPostgres(): unknown } {
  return 'toPostgres' in value && typeof value.toPostgres === 'function';
}

/**
 * Local time with its offset, as `pg` sends dates: a column without time zone keeps the local time, from which the driver
 * makes the same date again.
 */
export function dateText(date: Date): string {
  if (Number.isNaN(date.getTime())) return 'invalid'; // PostgreSQL refuses it, as it does of `pg`
  const year = date.getFullYear();
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const day = `${pad(year > 0 ? year : 1 - year, 4)}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const offset = -date.getTimezoneOffset();
  const minutes = Math.abs(offset);
  const zone = `${offset < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
  return `${day}T${time}.${pad(date.getMilliseconds(), 3)}${zone}${year > 0 ? '' : ' BC'}`;
}
