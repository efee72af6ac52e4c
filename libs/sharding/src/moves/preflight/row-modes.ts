import { mayBeReplica } from './facts/replica-role.js';
import { readHooks } from './facts/read-hooks.js';
import { EVENTS, rowMode, type RowMode } from './judge/row-modes.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/**
 * What `session_replication_role` has to be on a side, so that no trigger of the user fires. In `replica` foreign keys are
 * not checked either, and rows do not cascade.
 *
 * @returns undefined where triggers would fire in both: preflight says so
 */
export async function rowModeOf(
  session: MoveSession,
  tables: readonly MovedTable[],
  side: keyof typeof EVENTS,
): Promise<RowMode | undefined> {
  return rowMode(await readHooks(session, tables), {
    events: EVENTS[side],
    mayBeReplica: await mayBeReplica(session),
  });
}
