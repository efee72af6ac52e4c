import type { MovedTable } from '../../tables/moved-table.js';

/**
 * The moved tables with their partitions, as a common table expression for statements `with recursive`. The path is that of
 * the bounds of partitions, empty for the table itself; so is what partitions are recognised by on the other side.
 */
export const RELATIONS = `relation (place, oid, path) as (
    select (wanted.place - 1)::int, c.oid, '' collate "C"
    from unnest($1::text[], $2::text[]) with ordinality wanted (schema, name, place)
      join pg_namespace n on n.nspname::text = wanted.schema collate "C"
      join pg_class c on c.relnamespace = n.oid and c.relname::text = wanted.name collate "C"
        and c.relkind in ('r', 'p', 'v', 'm', 'f')
    union all
    select above.place, c.oid, concat_ws(' / ', nullif(above.path, ''), pg_get_expr(c.relpartbound, c.oid)) collate "C"
    from relation above join pg_inherits i on i.inhparent = above.oid
      join pg_class c on c.oid = i.inhrelid and c.relispartition)`;

/** The parameters of {@link RELATIONS}. */
export function relationParameters(tables: readonly MovedTable[]): [schemas: string[], names: string[]] {
  return [tables.map(({ schema }) => schema), tables.map(({ name }) => name)];
}

/** What is said of a moved table, or of one of its partitions. */
export interface Placed {
  /** The index of the moved table. */
  readonly place: number;
  /** Empty for the table itself, else the bounds of the partition: `FOR VALUES IN ('a') / DEFAULT`. */
  readonly path: string;
}
