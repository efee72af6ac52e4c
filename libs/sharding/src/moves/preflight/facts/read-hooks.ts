import { RELATIONS, relationParameters, type Placed } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

/** A trigger, or a rule, of the user that is not disabled. */
export interface HookFacts extends Placed {
  readonly kind: 'trigger' | 'rule';
  readonly name: string;
  /** With `session_replication_role`. */
  readonly fires: 'origin' | 'replica' | 'always';
  readonly events: readonly string[];
}

const FIRES = (column: string) =>
  `case ${column} when 'O' then 'origin' when 'R' then 'replica' else 'always' end`;

/** Triggers that would fire, without those of the fence; of a trigger that partitions have from their table only that. */
export async function readHooks(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<HookFacts[]> {
  const { rows } = await client.query<HookFacts>(
    `with recursive ${RELATIONS}
    select relation.place, relation.path, 'trigger' as kind, t.tgname::text as name, ${FIRES('t.tgenabled')} as fires,
      array(select event.name from (values (4, 'insert'), (8, 'delete'), (16, 'update'), (32, 'truncate')) event (bit, name)
        where t.tgtype & event.bit <> 0 order by event.bit) as events
    from relation join pg_trigger t on t.tgrelid = relation.oid join pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and t.tgparentid = 0 and t.tgenabled <> 'D' and not starts_with(p.proname, '_sharding_fence')
    union all
    select relation.place, relation.path, 'rule', r.rulename::text, ${FIRES('r.ev_enabled')}, array[case r.ev_type
      when '1' then 'select' when '2' then 'update' when '3' then 'insert' else 'delete' end]
    from relation join pg_rewrite r on r.ev_class = relation.oid
    where r.rulename <> '_RETURN' and r.ev_enabled <> 'D'
    order by place, path, name`,
    relationParameters(tables),
  );
  return rows;
}
