import { IS_OWN_TABLE } from './own-tables.js';
import type { Read } from '../look.js';

/** An index of a table of the application. */
export interface IndexFacts {
  readonly name: string;
  readonly table: string;
  /** Of an exclusion constraint too. */
  readonly unique: boolean;
  readonly primary: boolean;
  readonly valid: boolean;
  /** Somebody builds it now. */
  readonly building: boolean;
  /** It has a condition. */
  readonly partial: boolean;
  /** Of a partitioned table: invalid until all partitions have theirs. */
  readonly partitioned: boolean;
  /** Of its key, in order; empty text for an expression. */
  readonly columns: readonly string[];
}

export const indexFacts: Read<IndexFacts[]> = async (client) => {
  const { rows } = await client.query<IndexFacts>(`
    select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as "table",
      i.indisunique or i.indisexclusion as "unique", i.indisprimary as "primary", i.indisvalid as valid,
      exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid) as building,
      i.indpred is not null as partial, c.relkind = 'I' as partitioned,
      array(select coalesce(a.attname::text, '') from unnest(i.indkey) with ordinality k (attnum, place)
        left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum and k.attnum > 0
        where k.place <= i.indnkeyatts order by k.place) as columns
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
      join pg_namespace n on n.oid = t.relnamespace
    where ${IS_OWN_TABLE.replace('not t.relispartition', 'true')}
      and (not t.relispartition or not i.indisvalid)
    order by name`);
  return rows;
};
