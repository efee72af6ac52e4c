import { RELATIONS, relationParameters, type Placed } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

export interface IndexFacts extends Placed {
  readonly name: string;
  readonly unique: boolean;
  /** Of an exclusion constraint, or of a unique one without overlaps. */
  readonly exclusion: boolean;
  readonly partial: boolean;
  readonly expression: boolean;
  /** Two nulls are equal. */
  readonly nullsEqual: boolean;
  readonly valid: boolean;
  /** A constraint is checked by it. */
  readonly constraint: boolean;
  /** Of its key, in order; empty text for an expression. */
  readonly columns: readonly string[];
  /** The first column, or expression. */
  readonly leading: string;
  /** Without names: `btree (url) WHERE (NOT gone)`. */
  readonly definition: string;
}

/** Indexes of tables, and those that only a partition has. */
export async function readIndexes(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<IndexFacts[]> {
  const { rows } = await client.query<IndexFacts>(
    `with recursive ${RELATIONS}
    select relation.place, relation.path, x.relname::text as name, i.indisunique as "unique",
      i.indisexclusion as exclusion, i.indpred is not null as partial, i.indexprs is not null as expression,
      coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false) as "nullsEqual", i.indisvalid as valid,
      exists (select from pg_constraint k where k.conindid = x.oid and k.contype in ('p', 'u', 'x')) as "constraint",
      array(select coalesce(a.attname::text, '') from unnest(i.indkey::int2[]) with ordinality k (attnum, place)
        left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum and k.attnum > 0
        where k.place <= i.indnkeyatts order by k.place) as columns,
      pg_get_indexdef(x.oid, 1, false) as leading,
      substr(whole.text, strpos(whole.text, whole.upto) + length(whole.upto)) as definition
    from relation join pg_index i on i.indrelid = relation.oid join pg_class x on x.oid = i.indexrelid
      cross join lateral (select pg_get_indexdef(x.oid) as text, format(' ON %s%s USING ',
        case x.relkind when 'I' then 'ONLY ' else '' end, i.indrelid::regclass) as upto) whole
    where not x.relispartition
    order by relation.place, relation.path, x.relname`,
    relationParameters(tables),
  );
  return rows;
}
