import { ShardingError } from '@app/routing';
import { isKeyScoped } from '../tables/key-scoped-tables.js';
import { tableName } from '../tables/moved-table.js';
import type { KeyKind } from '../move-request.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/** What the catalog has of a table, for the triggers on it. */
export interface GuardedTable {
  readonly schema: string;
  readonly name: string;
  readonly oid: string;
  readonly owner: string;
  /** The column of the key. */
  readonly key: string;
  readonly attnum: number;
  /** Of the column, without its domain and without its length: a cast to it changes no key. */
  readonly keyType: string;
  readonly keyKind: KeyKind;
  /** The table with all of its partitions. */
  readonly tree: readonly string[];
}

type Named = Pick<MovedTable, 'schema' | 'name' | 'key'>;

interface Found extends Omit<GuardedTable, 'oid' | 'keyKind'> {
  readonly oid: string | null;
  readonly comparable: boolean | null;
  readonly integer: boolean | null;
  readonly children: readonly string[];
}

/**
 * The fence compares texts. A type, or a collation, under which different texts are the same key would let the other spelling
 * pass; the text of some types depends on settings of the writer.
 */
const FIND = `
  select given.schema, given.name, given.key, c.oid::text as oid, a.attnum, pg_get_userbyid(c.relowner)::text as owner,
    case when bn.nspname = 'pg_catalog' then quote_ident(base.typname)
      when base.oid is not null then format('%I.%I', bn.nspname, base.typname) end
      as "keyType", -- format_type has a "character" that would cut a key to its first
    (base.typtype = 'e' or base.oid = any ('{text,varchar,bpchar,uuid,int2,int4,int8}'::regtype[]))
      and coalesce(l.collisdeterministic, true) as comparable,
    base.oid = any ('{int2,int4,int8}'::regtype[]) as integer,
    array(select c.oid::text union select relid::oid::text from pg_partition_tree(c.oid)) as tree,
    array(select i.inhrelid::text from pg_inherits i join pg_class child on child.oid = i.inhrelid
      where i.inhparent = c.oid and not child.relispartition) as children
  from unnest($1::text[], $2::text[], $3::text[]) with ordinality as given (schema, name, key, at)
    left join pg_namespace n on n.nspname = given.schema
    left join pg_class c on c.relnamespace = n.oid and c.relname = given.name and c.relkind in ('r', 'p')
    left join pg_attribute a on a.attrelid = c.oid and a.attname = given.key and a.attnum > 0
    left join pg_collation l on l.oid = a.attcollation
    left join lateral (
      with recursive base as (
        select t.oid, t.typname, t.typnamespace, t.typtype, t.typbasetype from pg_type t where t.oid = a.atttypid
        union all
        select t.oid, t.typname, t.typnamespace, t.typtype, t.typbasetype from base d join pg_type t on d.typtype = 'd' and t.oid = d.typbasetype)
      select base.* from base where base.typtype <> 'd') base on true
    left join pg_namespace bn on bn.oid = base.typnamespace
  order by given.at`;

/** @throws ShardingError `move_refused` for what a trigger cannot guard */
export async function guardedTables(
  { client }: MoveSession,
  tables: readonly Named[],
  keyKind: KeyKind,
): Promise<GuardedTable[]> {
  const columns = [
    tables.map(({ schema }) => schema),
    tables.map(({ name }) => name),
    tables.map(({ key }) => key.name),
  ];
  const { rows } = await client.query<Found>(FIND, columns);
  const problems = rows.flatMap((row) => problemsOf(row, { keyKind, all: rows }));
  if (problems.length > 0) throw new ShardingError('move_refused', `no fence: ${problems.join('; ')}`);
  return rows.map((row) => guarded(row, keyKind));
}

function guarded(row: Found, keyKind: KeyKind): GuardedTable {
  const { schema, name, owner, key, attnum, keyType, tree } = row;
  return { schema, name, oid: row.oid ?? '', owner, key, attnum, keyType, keyKind, tree };
}

interface Context {
  readonly keyKind: KeyKind;
  readonly all: readonly Found[];
}

function problemsOf(row: Found, { keyKind, all }: Context): string[] {
  const table = tableName(row);
  if (row.oid === null) return [`there is no table ${table}`];
  if (row.attnum === null) return [`${table} has no column ${row.key}`];
  const problems: string[] = [];
  if (!row.comparable)
    problems.push(`keys of ${table}.${row.key} (${typeName(row)}) that are equal may differ as text`);
  if (keyKind === 'integer' && !row.integer && !isKeyScoped(row))
    problems.push(`${table}.${row.key} (${typeName(row)}) is no integer`);
  const unguarded = row.children.filter((child) => all.every(({ oid }) => oid !== child));
  if (unguarded.length > 0) problems.push(`tables that inherit from ${table} are not moved with it`);
  return problems;
}

/** @returns the oids of the tables and of all of their partitions */
export async function treesOf(
  { client }: MoveSession,
  tables: readonly Pick<MovedTable, 'schema' | 'name'>[],
): Promise<string[]> {
  const { rows } = await client.query<{ oid: string }>(
    `select distinct part.oid::oid::text as oid
    from unnest($1::text[], $2::text[]) as given (schema, name)
      join pg_namespace n on n.nspname = given.schema
      join pg_class c on c.relnamespace = n.oid and c.relname = given.name
      cross join lateral (select c.oid union select relid::oid from pg_partition_tree(c.oid)) part (oid)`,
    [tables.map(({ schema }) => schema), tables.map(({ name }) => name)],
  );
  return rows.map(({ oid }) => oid);
}

/** For people: a type with the name of a word of SQL is quoted. */
const typeName = ({ keyType }: Pick<GuardedTable, 'keyType'>) => keyType.replaceAll('"', '');
