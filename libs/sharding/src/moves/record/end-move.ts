import { inTransaction } from '../move-session.js';
import { deleteSubjects } from './move-rows.js';
import { forgetSide } from '../move-sides.js';
import { forgetSlotMove } from './record-verified.js';
import type { Mover } from '../mover.js';

/** The last step; the keys and slots are free for other moves. */
export async function endMove(
  { control, lease, source, destination }: Mover,
  state: 'purged' | 'aborted',
  ms: number,
): Promise<void> {
  await inTransaction(control, '', async () => {
    await lease.write({ state, ms });
    await deleteSubjects(control, lease.record.id);
    if (state === 'aborted') await forgetSlotMove(control, lease.record.id);
  });
  for (const side of [source, destination]) await forgetSide(side, lease.record.id);
}
