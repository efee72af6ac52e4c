import { RELATIONS, relationParameters } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

/** A sequence that fills a column of a moved table. */
export interface SequenceFacts {
  readonly place: number;
  readonly name: string;
  /** This role may do what the owner may. */
  readonly owned: boolean;
}

/** Sequences that columns own, and those that defaults name. */
export async function readSequences(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<SequenceFacts[]> {
  const { rows } = await client.query<SequenceFacts>(
    `with recursive ${RELATIONS}
    select distinct relation.place, s.oid::regclass::text as name, pg_has_role(s.relowner, 'usage') as owned
    from relation join lateral (
        select d.objid from pg_depend d
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = relation.oid
          and d.refobjsubid > 0 and d.deptype in ('a', 'i')
        union select d.refobjid from pg_attrdef v
          join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = v.oid
            and d.refclassid = 'pg_class'::regclass
        where v.adrelid = relation.oid) used (oid) on true
      join pg_class s on s.oid = used.oid and s.relkind = 'S'
    where relation.path = ''
    order by relation.place, name`,
    relationParameters(tables),
  );
  return rows;
}
