import { RELATIONS, relationParameters, type Placed } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

export interface ConstraintFacts extends Placed {
  readonly kind: 'check' | 'unique' | 'foreign key' | 'exclusion';
  /** Without its name. */
  readonly definition: string;
}

/** Constraints of tables, and those that only a partition has. */
export async function readConstraints(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<ConstraintFacts[]> {
  const { rows } = await client.query<ConstraintFacts>(
    `with recursive ${RELATIONS}
    select relation.place, relation.path,
      case k.contype when 'c' then 'check' when 'f' then 'foreign key' when 'x' then 'exclusion' else 'unique' end as kind,
      pg_get_constraintdef(k.oid) as definition
    from relation join pg_constraint k on k.conrelid = relation.oid
    where k.contype in ('c', 'f', 'p', 'u', 'x') and k.conparentid = 0 and (relation.path = '' or k.coninhcount = 0)
    order by relation.place, relation.path, pg_get_constraintdef(k.oid) collate "C"`,
    relationParameters(tables),
  );
  return rows;
}
