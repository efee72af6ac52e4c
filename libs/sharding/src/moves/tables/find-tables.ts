import type { MoveSession } from '../move-session.js';

/** A relation that a name may mean. */
export interface FoundTable {
  /** The number of the object, for further look-ups in the same database. */
  readonly oid: string;
  readonly schema: string;
  readonly name: string;
  readonly kind:
    'table' | 'partition' | 'view' | 'foreign table' | 'temporary table' | 'table of the framework';
  /** The column with the routing key; null where there is none. */
  readonly key: string | null;
}

const KIND = `case
    when c.relkind in ('v', 'm') then 'view' when c.relkind = 'f' then 'foreign table'
    when c.relpersistence = 't' then 'temporary table' when c.relispartition then 'partition'
    when starts_with(c.relname, '_sharding_') then 'table of the framework' else 'table' end`;

/** What each name means, in the order of the names: nothing, or something, or too much. */
export async function findTables(
  { client, searchPath }: MoveSession,
  names: readonly string[],
  keyColumn: string,
): Promise<FoundTable[][]> {
  const { rows } = await client.query<FoundTable & { place: number }>(
    `with named as (
      select wanted.place::int, c.oid::text, n.nspname::text as schema, c.relname::text as name, ${KIND} as kind,
        (select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          and a.attname::text = $3 collate "C") as key,
        c.relname::text = wanted.name collate "C" as plain, array_position($2::text[], n.nspname::text) as nearness
      from unnest($1::text[]) with ordinality wanted (name, place)
        join pg_class c on c.relkind in ('r', 'p', 'v', 'm', 'f')
        join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^(pg_|information_schema$)'
          and (n.nspname || '.' || c.relname = wanted.name collate "C"
            or c.relname::text = wanted.name collate "C" and n.nspname::text = any ($2::text[])))
    select place, oid, schema, name, kind, key from named
    where not plain or nearness = (select min(near.nearness) from named near where near.plain and near.place = named.place)
    order by place, schema collate "C", name collate "C"`,
    [names, searchPath, keyColumn],
  );
  return names.map((_name, index) => rows.filter(({ place }) => place === index + 1));
}
