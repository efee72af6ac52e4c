/** Families of PostgreSQL types whose order this process can tell exactly. */
export type KeyKind =
  | 'integer'
  | 'numeric'
  | 'float'
  | 'text'
  | 'boolean'
  | 'uuid'
  | 'bytea'
  | 'timestamp'
  | 'timestamptz'
  | 'date'
  | 'time'
  | 'enum';

/** The type of a column, as the catalog of a shard tells it. */
export interface KeyType {
  readonly kind: KeyKind;
  /** The name for a cast, such as `bigint` or `public.mood`; of a domain its base type. */
  readonly sql: string;
  /** Of an enum, in its order. */
  readonly labels?: readonly string[];
}

const KINDS = new Map<string, KeyKind>([
  ['int2', 'integer'],
  ['int4', 'integer'],
  ['int8', 'integer'],
  ['numeric', 'numeric'],
  ['float4', 'float'],
  ['float8', 'float'],
  ['text', 'text'],
  ['varchar', 'text'],
  ['bpchar', 'text'],
  ['name', 'text'],
  ['bool', 'boolean'],
  ['uuid', 'uuid'],
  ['bytea', 'bytea'],
  ['timestamp', 'timestamp'],
  ['timestamptz', 'timestamptz'],
  ['date', 'date'],
  ['time', 'time'],
]);

/** The kind of a type of `pg_catalog`; undefined where its order cannot be told here: json, arrays, interval, inet ... */
export function kindOf(typname: string): KeyKind | undefined {
  return KINDS.get(typname);
}

/** Kinds whose text form is the number of seconds since 1970, or since midnight. */
export function isTime(kind: KeyKind): boolean {
  return kind === 'timestamp' || kind === 'timestamptz' || kind === 'date' || kind === 'time';
}

/** Kinds that have a sum. */
export function isNumber(kind: KeyKind): boolean {
  return kind === 'integer' || kind === 'numeric' || kind === 'float';
}

/**
 * The text form of a value: exact, and the same under every setting of the session. Functions that are not known to
 * be harmless would make the read count as a write (`isPureRead`), so there are none.
 *
 * @param sql the value
 */
export function textForm(sql: string, kind: KeyKind): string {
  switch (kind) {
    case 'bytea':
      return `encode(${sql}, 'hex')`;
    case 'timestamp':
      return secondsOf(sql);
    case 'timestamptz':
      return secondsOf(`(${sql} at time zone 'UTC')`);
    case 'date':
    case 'time':
      return `extract(epoch from ${sql})::text`;
    default:
      return `(${sql})::text`;
  }
}

/** In two exact parts: of a timestamp close to the end of its range `extract(epoch ...)` loses the microseconds. */
function secondsOf(sql: string): string {
  return `(extract(epoch from (${sql})::date) + coalesce(extract(epoch from (${sql})::time), 0))::text`;
}

/** The value as it is ordered: text under the collation "C", whatever its column says. */
export function ordered(sql: string, kind: KeyKind): string {
  return kind === 'text' ? `${sql} collate "C"` : sql;
}
