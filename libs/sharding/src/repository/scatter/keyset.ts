import { ordered } from './values/key-type.js';
import { parameterOf } from './values/key-value.js';
import type { SortKey } from './sort-key.js';

/** A condition of a query builder. */
export interface Condition {
  readonly sql: string;
  readonly parameters: Record<string, string>;
}

/** Where the rows of one shard go on. */
export interface Position {
  /** Text forms of the row's keys, in the order of the keys. */
  readonly texts: readonly (string | null)[];
  /** `at`: a row with these very keys is also behind the position, on a shard that is declared later. */
  readonly from: 'after' | 'at';
}

const PARAMETER = 'scatter_after_';

/**
 * The rows behind a position in the order of `keys`, aware of NULLs and of mixed directions. Where all columns go one
 * way and cannot be null it is a row comparison, which an index serves; else the first column bounds the range.
 */
export function keysetCondition(keys: readonly SortKey[], position: Position): Condition {
  const parameters: Record<string, string> = {};
  const places = keys.map((key, index): Place => {
    const text = position.texts[index] ?? null;
    if (text !== null) parameters[PARAMETER + index] = parameterOf(text, key.type);
    return {
      key,
      column: ordered(key.sql, key.type.kind),
      value: text === null ? null : valueOf(key, index),
    };
  });
  const sql = uniform(places) ? rowComparison(places, position.from) : lexicographic(places, position.from);
  return { sql, parameters };
}

interface Place {
  readonly key: SortKey;
  /** The column with its collation. */
  readonly column: string;
  /** The parameter with its type; null: the position has NULL here. */
  readonly value: string | null;
}

function valueOf({ type }: SortKey, index: number): string {
  return `cast(:${PARAMETER}${index} as ${type.sql})`;
}

function uniform(places: readonly Place[]): boolean {
  const [first] = places;
  return places.every(
    ({ key, value }) => value !== null && !key.nullable && key.direction === first?.key.direction,
  );
}

function rowComparison(places: readonly Place[], from: Position['from']): string {
  const operator = places[0]?.key.direction === 'DESC' ? '<' : '>';
  const columns = places.map(({ column }) => column).join(', ');
  const values = places.map(({ value }) => value).join(', ');
  return `(${columns}) ${operator}${from === 'at' ? '=' : ''} (${values})`;
}

/** `a after A or (a = A and b after B) or ...`, within the range of the first column. */
function lexicographic(places: readonly Place[], from: Position['from']): string {
  const equal = places.map(equality);
  const branches = places.map((place, index) => [...equal.slice(0, index), after(place)].join(' and '));
  if (from === 'at') branches.push(equal.join(' and '));
  const either = branches.map((branch) => `(${branch})`).join(' or ');
  const [first] = places;
  return first ? `${notBefore(first)} and (${either})` : 'true';
}

function equality({ column, value }: Place): string {
  return value === null ? `${column} is null` : `${column} = ${value}`;
}

function after({ key, column, value }: Place): string {
  if (value === null) return key.nulls === 'first' ? `${column} is not null` : 'false';
  const compared = `${column} ${key.direction === 'DESC' ? '<' : '>'} ${value}`;
  return key.nullable && key.nulls === 'last' ? `(${compared} or ${column} is null)` : compared;
}

function notBefore({ key, column, value }: Place): string {
  if (value === null) return key.nulls === 'first' ? 'true' : `${column} is null`;
  const compared = `${column} ${key.direction === 'DESC' ? '<=' : '>='} ${value}`;
  return key.nullable && key.nulls === 'last' ? `(${compared} or ${column} is null)` : compared;
}
