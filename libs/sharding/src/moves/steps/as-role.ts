import { ShardingError } from '@app/routing';
import { rowModeOf } from '../preflight/row-modes.js';
import type { MovedContent } from '../content.js';
import type { MoveSession } from '../move-session.js';

/**
 * Keeps triggers of the user from firing in this transaction, where there are some: what they would write was written when
 * the rows were. Foreign keys are then not checked either.
 *
 * @throws ShardingError `move_refused` where some fire nevertheless: they came after preflight
 */
export async function asRole(
  session: MoveSession,
  { tables }: MovedContent,
  side: 'source' | 'destination',
): Promise<'origin' | 'replica'> {
  const mode = await rowModeOf(session, tables, side);
  if (mode === undefined) {
    throw new ShardingError(
      'move_refused',
      `triggers would fire on the ${side}, which did not when the move was planned: let them fire on the origin only, or disable them meanwhile`,
    );
  }
  if (mode === 'origin') return 'origin';
  await session.client.query(`set local session_replication_role = replica`);
  return 'replica';
}
