import { IS_OWN_TABLE } from './own-tables.js';
import type { Read } from '../look.js';

/** A table of the application. */
export interface TableFacts {
  /** With its schema where the `search_path` does not lead to it. */
  readonly name: string;
  readonly columns: readonly string[];
  /** Those that take a null. */
  readonly nullable: readonly string[];
  /** Columns whose values are unique over all tables anyway: identities, serials and uuids. */
  readonly ids: readonly string[];
}

export const tableFacts: Read<TableFacts[]> = async (client) => {
  const { rows } = await client.query<TableFacts>(`
    select t.oid::regclass::text as name,
      array_agg(a.attname::text order by a.attnum) as columns,
      coalesce(array_agg(a.attname::text order by a.attnum) filter (where not a.attnotnull), '{}') as nullable,
      coalesce(array_agg(a.attname::text order by a.attnum) filter (where a.attidentity <> ''
        or a.atttypid = 'uuid'::regtype or s.objid is not null), '{}') as ids
    from pg_class t join pg_namespace n on n.oid = t.relnamespace
      join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      left join lateral (select d.objid from pg_depend d join pg_class c on c.oid = d.objid and c.relkind = 'S'
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
          and d.refobjid = t.oid and d.refobjsubid = a.attnum limit 1) s on true
    where ${IS_OWN_TABLE}
    group by t.oid order by name`);
  return rows;
};
