import { printSlots } from '@app/routing';
import { inTransaction } from '../move-session.js';
import { table } from './move-rows.js';
import type { MoveSession } from '../move-session.js';
import type { MoveProof } from './move-record.js';
import type { Mover } from '../mover.js';

/** Records that both sides were equal; of whole slots also for the map guard, which asks why a slot has another owner. */
export async function recordVerified({ control, lease }: Mover, proof: MoveProof, ms: number): Promise<void> {
  const { id, source, destination, group, scope } = lease.record;
  await inTransaction(control, '', async () => {
    await lease.write({ state: 'verified', ms, proof });
    if ('keys' in scope) return;
    await forgetSlotMove(control, id);
    await control.client.query(
      `insert into ${table(control, 'slot_moves')} (source, destination, group_id, slots, move_id)
        values ($1, $2, $3, $4, $5)`,
      [source, destination, group, printSlots(scope.slots), id],
    );
  });
}

/** A move that was aborted, or copied again, is no reason for another owner. */
export async function forgetSlotMove(control: MoveSession, id: string): Promise<void> {
  await control.client.query(`delete from ${table(control, 'slot_moves')} where move_id = $1`, [id]);
}
