import { assertMayAbort } from './steps/hold-strays.js';
import { assertHasRows } from './steps/assert-has-rows.js';
import { claimSide, writeSide } from './move-sides.js';
import { endMove } from './record/end-move.js';
import { inTransaction } from './move-session.js';
import { openSource, restoreDestination } from './steps/fence-rows.js';
import { asRole } from './steps/as-role.js';
import { removeCopy } from './steps/remove-copy.js';
import { untilRoutesKnown } from './assert-routes.js';
import { withControl, withMover } from './with-mover.js';
import type { MoveCall, MoveFleet } from './mover.js';
import type { MoveRecord } from './record/move-record.js';

/**
 * Takes the copy away and ends the move; the rows at the source are not touched.
 *
 * @throws ShardingError `move_refused` once a key is routed to the destination; `move_mismatch` where somebody has written there
 */
export function abortMove(id: string, fleet: MoveFleet, call: MoveCall): Promise<MoveRecord> {
  return withControl(fleet, call, (control) =>
    withMover(fleet, { ...call, control, id }, async (mover) => {
      const began = performance.now();
      const { destination, content, lease } = mover;
      await assertHasRows(mover);
      await untilRoutesKnown(mover);
      await assertMayAbort(mover);
      await inTransaction(destination, '', async () => {
        const done = await claimSide(destination, lease.record, 'destination');
        await asRole(destination, content, 'destination');
        if (done?.copied) await removeCopy(mover, done.copied);
        await writeSide(destination, lease.record.id, done?.before && { before: done.before });
      });
      await mover.reached('copy-removed');
      await restoreDestination(mover);
      await openSource(mover);
      await endMove(mover, 'aborted', Math.round(performance.now() - began));
      await mover.reached('aborted');
      return lease.record;
    }),
  );
}
