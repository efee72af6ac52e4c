import { rowModeOf } from '../preflight/row-modes.js';
import type { MovedContent } from '../content.js';
import type { MoveSession } from '../move-session.js';

/**
 * Keeps triggers of the user from firing in this transaction, where there are some: what they would write was written when
 * the rows were. Foreign keys are then not checked either.
 */
export async function asRole(
  session: MoveSession,
  { tables }: MovedContent,
  side: 'source' | 'destination',
): Promise<'origin' | 'replica'> {
  const mode = await rowModeOf(session, tables, side);
  if (mode !== 'replica') return 'origin';
  await session.client.query(`set local session_replication_role = replica`);
  return 'replica';
}
