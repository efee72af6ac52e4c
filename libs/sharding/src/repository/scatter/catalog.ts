import { ShardingError } from '@app/routing';
import { readTransaction } from './shard-read.js';
import { isTime, kindOf } from './values/key-type.js';
import type { DataSource, EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ShardRead } from './shard-read.js';
import type { KeyType } from './values/key-type.js';

/** What the catalog of one database says of a column. */
export interface CatalogColumn {
  readonly type: KeyType;
  readonly nullable: boolean;
}

/** What of the database decides whether a text form is exact. */
interface CatalogRow {
  readonly name: string;
  readonly typname: string;
  readonly schema: string;
  readonly enumeration: boolean;
  readonly sql: string;
  readonly not_null: boolean;
  readonly deterministic: boolean;
  readonly labels: string[] | null;
  readonly encoding: string;
  readonly float_digits: number;
  readonly version: number;
}

/** A domain stands for its base type. */
const COLUMNS = `with recursive base as (
    select a.attname, a.attnotnull, a.attcollation, a.atttypid as oid from pg_attribute a
      where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
    union all
    select b.attname, b.attnotnull, b.attcollation, t.typbasetype from base b join pg_type t on t.oid = b.oid where t.typtype = 'd'
  )
  select b.attname as name, t.typname, n.nspname as schema, t.typtype = 'e' as enumeration, format_type(t.oid, -1) as sql,
    b.attnotnull as not_null, coalesce(c.collisdeterministic, true) as deterministic,
    (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels,
    current_setting('server_encoding') as encoding, current_setting('extra_float_digits')::int as float_digits,
    current_setting('server_version_num')::int as version
  from base b join pg_type t on t.oid = b.oid join pg_namespace n on n.oid = t.typnamespace
    left join pg_collation c on c.oid = b.attcollation
  where t.typtype <> 'd'`;

/** So long an answer is believed; a label that is not known asks anew at once. */
const FRESH_MS = 60_000;

interface Entry {
  readonly askedAt: number;
  readonly rows: Promise<ReadonlyMap<string, CatalogRow>>;
}

/** By the object: an answer ends with its `DataSource`. */
const known = new WeakMap<DataSource, Map<string, Entry>>();

/** Forgets what is known of a database: an enum has got a label since. */
export function forgetCatalog(source: DataSource): void {
  known.delete(source);
}

/**
 * What a column really is: entities may say something else than the migrations did.
 *
 * @throws ShardingError `cross_shard_unsupported` for a type whose values cannot be ordered or compared here exactly
 */
export async function catalogColumn(read: ShardRead, column: ColumnMetadata): Promise<CatalogColumn> {
  const what = `${column.entityMetadata.name}.${column.propertyPath}`;
  const rows = await rowsOf(read, column.entityMetadata);
  const row = rows.get(column.databaseName);
  if (!row) throw unsupported(`${what} is no column of a table on shard "${read.shard.name}"`);
  return { type: typeOf(row, what), nullable: !row.not_null };
}

async function rowsOf(read: ShardRead, metadata: EntityMetadata): Promise<ReadonlyMap<string, CatalogRow>> {
  const tables = known.get(read.source) ?? new Map<string, Entry>();
  known.set(read.source, tables);
  const table = metadata.tablePath;
  const entry = tables.get(table);
  if (entry && performance.now() - entry.askedAt < FRESH_MS) return entry.rows;
  const rows = ask(read, table);
  tables.set(table, { askedAt: performance.now(), rows });
  rows.catch(() => tables.delete(table));
  return rows;
}

async function ask(read: ShardRead, table: string): Promise<ReadonlyMap<string, CatalogRow>> {
  const quoted = table.split('.').map((part) => `"${part.replaceAll('"', '""')}"`);
  const rows = await readTransaction(read, {}, (level) =>
    level.single<CatalogRow[]>(COLUMNS, [quoted.join('.')]),
  );
  return new Map(rows.map((row) => [row.name, row]));
}

function typeOf(row: CatalogRow, what: string): KeyType {
  const { sql, labels, enumeration } = row;
  if (enumeration) return { kind: 'enum', sql, labels: labels ?? [] };
  const kind = row.schema === 'pg_catalog' ? kindOf(row.typname) : undefined;
  if (!kind) {
    throw unsupported(
      `${what} is of type ${sql}: values of that type cannot be ordered, grouped or compared across shards`,
    );
  }
  const why = inexact(row, kind);
  if (why !== undefined) throw unsupported(`${what} cannot be compared across shards: ${why}`);
  return { kind, sql };
}

function inexact(row: CatalogRow, kind: KeyType['kind']): string | undefined {
  if (kind === 'text' && !row.deterministic) return 'its collation is not deterministic';
  if (kind === 'text' && row.encoding !== 'UTF8') return `the encoding of the database is ${row.encoding}`;
  if (kind === 'float' && row.float_digits < 1) return 'extra_float_digits is below 1, which rounds floats';
  if (isTime(kind) && row.version < 140_000) return 'extract() is inexact before PostgreSQL 14';
  return undefined;
}

export function unsupported(message: string): ShardingError {
  return new ShardingError('cross_shard_unsupported', message);
}
