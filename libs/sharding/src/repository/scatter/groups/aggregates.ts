import { unsupported } from '../catalog.js';
import { canonical, compareKeyValues, keyValue } from '../values/key-value.js';
import { addDecimals, decimalOf, decimalText } from '../values/decimal.js';
import { isNumber, ordered, textForm } from '../values/key-type.js';
import type { KeyType } from '../values/key-type.js';

/** What can be told about a group. */
export const AGGREGATES = ['count', 'countDistinct', 'sum', 'average', 'minimum', 'maximum'] as const;
export type AggregateName = (typeof AGGREGATES)[number];

/** An aggregate on one shard: of a column, or of all rows. */
export interface Aggregate {
  readonly name: AggregateName;
  /** The quoted column and its type; undefined for `count(*)`. */
  readonly of?: { readonly sql: string; readonly type: KeyType };
}

/** What a shard tells of one group: `[value]`, or `[sum, count]` for an average; null is NULL. */
export type Partial = readonly (string | null)[];

const INTEGER: KeyType = { kind: 'integer', sql: 'bigint' };
const COUNT: KeyType = { kind: 'integer', sql: 'integer' };
const NUMERIC: KeyType = { kind: 'numeric', sql: 'numeric' };
const FLOAT: KeyType = { kind: 'float', sql: 'double precision' };

/** Types that have `min` and `max` on every version of PostgreSQL. */
const WITHOUT_EXTREMES = new Set(['uuid', 'boolean', 'bytea']);

/** The SQL of what a shard tells; none for `countDistinct`, whose values are read apart. */
export function partialSql({ name, of }: Aggregate): string[] {
  if (!of) return ['count(*)::text'];
  const { sql, type } = of;
  const summed = type.kind === 'float' ? `(${sql})::float8` : sql;
  switch (name) {
    case 'count':
      return [`count(${sql})::text`];
    case 'sum':
      return [`sum(${summed})::text`];
    case 'average':
      return [`sum(${summed})::text`, `count(${sql})::text`];
    case 'minimum':
      return [extreme('min', sql, type)];
    case 'maximum':
      return [extreme('max', sql, type)];
    case 'countDistinct':
      return [];
  }
}

/** What the aggregate of all shards is compared and shown as. */
export function resultType({ name, of }: Aggregate): KeyType {
  if (!of || name === 'count' || name === 'countDistinct') return COUNT;
  if (name === 'minimum' || name === 'maximum') return of.type;
  if (of.type.kind === 'float') return FLOAT;
  return name === 'sum' && of.type.kind === 'integer' ? INTEGER : NUMERIC;
}

/** Whether the aggregate exists for the column. */
export function isDefined({ name, of }: Aggregate): boolean {
  return !(name === 'sum' || name === 'average') || (of !== undefined && isNumber(of.type.kind));
}

/** Of all rows of both. Sums of floats depend on the order of the rows, here as in one database. */
export function mergePartials(aggregate: Aggregate, a: Partial, b: Partial): Partial {
  const { name, of } = aggregate;
  const [left = null, leftCount = null] = a;
  const [right = null, rightCount = null] = b;
  if (name === 'minimum' || name === 'maximum') {
    return [of ? extremeOf(left, right, { type: of.type, least: name === 'minimum' }) : null];
  }
  const value = of && name !== 'count' ? added(left, right, of.type) : added(left, right, INTEGER);
  return name === 'average' ? [value, added(leftCount, rightCount, INTEGER)] : [value];
}

function added(a: string | null, b: string | null, { kind }: KeyType): string | null {
  if (a === null || b === null) return a ?? b;
  if (kind === 'float') return addedFloats(Number(a), Number(b));
  return decimalText(addDecimals(decimalOf(a), decimalOf(b)));
}

/** @throws ShardingError `cross_shard_unsupported` where PostgreSQL, too, refuses: finite values have an infinite sum */
function addedFloats(a: number, b: number): string {
  const sum = a + b;
  if (Number.isFinite(a) && Number.isFinite(b) && !Number.isFinite(sum)) {
    throw unsupported('the sum of floats is out of range: overflow');
  }
  return String(sum);
}

function extremeOf(
  a: string | null,
  b: string | null,
  { type, least }: { readonly type: KeyType; readonly least: boolean },
): string | null {
  if (a === null || b === null) return a ?? b;
  const order = compareKeyValues(keyValue(a, type), keyValue(b, type), type.kind);
  return order <= 0 === least ? a : b;
}

function extreme(name: 'min' | 'max', sql: string, type: KeyType): string {
  const column = ordered(sql, type.kind);
  if (!WITHOUT_EXTREMES.has(type.kind)) return textForm(`${name}(${column})`, type.kind);
  const direction = name === 'min' ? 'asc' : 'desc';
  return `(array_agg(${textForm(sql, type.kind)} order by ${column} ${direction}) filter (where ${sql} is not null))[1]`;
}

/** One text for all values of a type that are equal; null stays. */
export function groupText(text: string | null, type: KeyType): string | null {
  return text === null ? null : canonical(text, type);
}
