import type { MoveSession } from '../move-session.js';
import type { FoundTable } from './find-tables.js';
import type { KeyScopedTable } from './key-scoped-tables.js';

/**
 * Tables of the search path with the key column, and tables of the framework that belong to a key, by name. A partition is
 * moved with its parent.
 */
export async function keyTables(
  { client, schema, searchPath }: MoveSession,
  keyColumn: string,
  scoped: readonly KeyScopedTable[],
): Promise<FoundTable[]> {
  const { rows } = await client.query<FoundTable>(
    `select c.oid::text, n.nspname::text as schema, c.relname::text as name, 'table' as kind, a.attname::text as key
    from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^(pg_|information_schema$)'
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join unnest($4::text[], $5::text[]) scoped (name, key)
        on scoped.name collate "C" = c.relname::text and n.nspname::text = $3 collate "C"
    where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't'
      and case when starts_with(c.relname, '_sharding_') then a.attname::text = scoped.key collate "C"
        else a.attname::text = $1 collate "C" and n.nspname::text = any ($2::text[]) end
    order by n.nspname, c.relname`,
    [keyColumn, searchPath, schema, scoped.map(({ name }) => name), scoped.map((table) => table.keyColumn)],
  );
  return rows;
}
