import { dateText, timestampText, timeText } from './civil-time.js';
import { compareCodePoints } from './code-points.js';
import { canonicalDecimal, compareDecimals, decimalOf } from './decimal.js';
import { isTime } from './key-type.js';
import type { Decimal } from './decimal.js';
import type { KeyKind, KeyType } from './key-type.js';

/** What a text form is compared as, a {@link Decimal} among others; null is SQL's NULL. */
export type KeyValue = bigint | number | string | Exclude<Decimal, string> | null;

/** What a caller gets for a value that is part of no entity: see {@link outputOf}. */
export type OutputValue = string | number | boolean | Buffer;

/** The label of an enum that was not there when the catalog was read. */
export class UnknownLabel extends Error {}

/** @param text the text form. @throws UnknownLabel */
export function keyValue(text: string, { kind, labels }: KeyType): KeyValue {
  switch (kind) {
    case 'integer':
      return BigInt(text);
    case 'numeric':
    case 'timestamp':
    case 'timestamptz':
    case 'date':
    case 'time':
      return decimalOf(text);
    case 'float':
      return Number(text);
    case 'enum': {
      const at = labels?.indexOf(text) ?? -1;
      if (at < 0) throw new UnknownLabel();
      return at;
    }
    default:
      return text;
  }
}

/** Negative, 0 or positive: how PostgreSQL orders two values of one type, neither of them null. */
export function compareKeyValues(a: KeyValue, b: KeyValue, kind: KeyKind): number {
  if (kind === 'integer') return compareIntegers(a as bigint, b as bigint);
  if (kind === 'float' || kind === 'enum') return compareFloats(a as number, b as number);
  if (kind === 'numeric' || isTime(kind)) return compareDecimals(a as Decimal, b as Decimal);
  return compareCodePoints(a as string, b as string);
}

/** One text for all values that PostgreSQL holds for equal. */
export function canonical(text: string, { kind }: KeyType): string {
  if (kind === 'numeric') return canonicalDecimal(decimalOf(text));
  return kind === 'float' ? String(Number(text) + 0) : text;
}

/** As a parameter that `$1::type` reads back as the very same value. */
export function parameterOf(text: string, { kind }: KeyType): string {
  switch (kind) {
    case 'bytea':
      return `\\x${text}`;
    case 'timestamp':
      return timestampText(text);
    case 'timestamptz':
      return timestampText(text, '+00');
    case 'date':
      return dateText(text);
    case 'time':
      return timeText(text);
    default:
      return text;
  }
}

/**
 * The value for the caller, without loss: smallint and integer, real and double precision are numbers, boolean is one,
 * bytea a Buffer; bigint and numeric are their text, as the driver gives them, and so are timestamps, dates and times (ISO,
 * a timestamptz in UTC): a `Date` has milliseconds and no infinity.
 */
export function outputOf(text: string, type: KeyType): OutputValue {
  switch (type.kind) {
    case 'integer':
      return type.sql === 'bigint' ? text : Number(text);
    case 'float':
      return Number(text);
    case 'boolean':
      return text === 'true';
    case 'bytea':
      return Buffer.from(text, 'hex');
    case 'timestamp':
    case 'timestamptz':
    case 'date':
    case 'time':
      return parameterOf(text, type);
    default:
      return text;
  }
}

function compareIntegers(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareFloats(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}
