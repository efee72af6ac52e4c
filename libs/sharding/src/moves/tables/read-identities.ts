import type { MoveSession } from '../move-session.js';

/** Columns that tell the rows of a table apart. */
export interface ReadIdentity {
  readonly oid: string;
  readonly columns: readonly string[];
}

/**
 * The primary key of each table, else its narrowest unique key without nulls; nothing for a table that has neither.
 *
 * @param named the one column that it has to be, and of which of the tables
 */
export async function readIdentities(
  { client }: MoveSession,
  oids: readonly string[],
  named?: { readonly column: string; readonly oids: readonly string[] },
): Promise<ReadIdentity[]> {
  const { rows } = await client.query<ReadIdentity>(
    `select distinct on (i.indrelid) i.indrelid::text as oid, named.columns
    from pg_index i join pg_class x on x.oid = i.indexrelid
      cross join lateral (
        select array_agg(a.attname::text order by k.place) as columns, bool_and(a.attnotnull) as filled
        from unnest(i.indkey::int2[]) with ordinality k (attnum, place)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where k.place <= i.indnkeyatts) named
    where i.indrelid = any ($1::oid[]) and i.indisunique and i.indisvalid and i.indpred is null
      and i.indexprs is null and named.filled
      and (named.columns = array[$2] or i.indrelid <> all ($3::oid[]))
    order by i.indrelid, i.indisprimary desc, i.indnkeyatts, x.relname`,
    [oids, named?.column ?? null, named?.oids ?? []],
  );
  return rows;
}
