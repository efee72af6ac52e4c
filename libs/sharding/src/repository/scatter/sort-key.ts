import { compareKeyValues, keyValue } from './values/key-value.js';
import type { KeyType } from './values/key-type.js';
import type { KeyValue } from './values/key-value.js';

export type Direction = 'ASC' | 'DESC';
export type NullsPlace = 'first' | 'last';

/** How one value of the order is compared. */
export interface SortRule {
  readonly type: KeyType;
  readonly direction: Direction;
  readonly nulls: NullsPlace;
}

/** One column of the order, on one shard. */
export interface SortKey extends SortRule {
  /** The column in SQL, quoted: `"Note"."body"`. */
  readonly sql: string;
  /** Its place in the entity, for messages: `author.name`. */
  readonly path: string;
  readonly nullable: boolean;
}

/** A row with its place in the order. */
export interface Keyed<T> {
  /** Text forms; null is NULL. */
  readonly texts: readonly (string | null)[];
  readonly values: readonly KeyValue[];
  /** Position of its shard in the declaration order. */
  readonly shard: number;
  readonly row: T;
}

/** PostgreSQL's defaults: nulls are greater than everything. */
export function defaultNulls(direction: Direction): NullsPlace {
  return direction === 'ASC' ? 'last' : 'first';
}

/** @throws UnknownLabel */
export function keyedRow<T>(
  rules: readonly SortRule[],
  texts: readonly (string | null)[],
  of: { readonly shard: number; readonly row: T },
): Keyed<T> {
  const values = rules.map(({ type }, index) => {
    const text = texts[index] ?? null;
    return text === null ? null : keyValue(text, type);
  });
  return { texts, values, ...of };
}

/** The one global order: the keys, then the shard by declaration order. */
export function rowOrder(rules: readonly SortRule[]): (a: Keyed<unknown>, b: Keyed<unknown>) => number {
  return (a, b) => compareRows(rules, a.values, b.values) || a.shard - b.shard;
}

export function compareRows(
  rules: readonly SortRule[],
  a: readonly KeyValue[],
  b: readonly KeyValue[],
): number {
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index];
    const left = a[index] ?? null;
    const right = b[index] ?? null;
    const order = rule ? compareBy(rule, left, right) : 0;
    if (order !== 0) return order;
  }
  return 0;
}

function compareBy({ type, direction, nulls }: SortRule, a: KeyValue, b: KeyValue): number {
  if (a === null || b === null) {
    if (a === b) return 0;
    return (a === null) === (nulls === 'first') ? -1 : 1;
  }
  const order = compareKeyValues(a, b, type.kind);
  return direction === 'ASC' ? order : -order;
}
