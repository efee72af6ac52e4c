import { ShardingError } from '@app/routing';
import { clearSubjects, lowerFence as lower, removeTombstones } from '../fence/lower-fence.js';
import { fenceLeft, passFence } from '../fence/fence-rows.js';
import { raiseFence, setTombstones } from '../fence/raise-fence.js';
import { removeIdleFences } from '../fence/remove-idle-fences.js';
import { waitForWriters } from '../fence/wait-for-writers.js';
import type { FenceOrder } from '../fence/raise-fence.js';
import type { Mover } from '../mover.js';
import type { MoveSession } from '../move-session.js';

const TIDY_MS = 3000;

/** Stops writes of the keys at the source, and waits for those that were under way: from here on the rows are still. */
export async function fenceRows(mover: Mover): Promise<void> {
  const { source, lease, content, signal } = mover;
  await raiseFence(source, orderOf(mover), lease.record.terms.fenceMs);
  await mover.reached('fence-raised');
  const left = await fenceLeft(source, lease.record);
  await waitForWriters(source, content.tables, { limitMs: left, signal });
}

/** What was read behind the fence counts only while it stands. @throws ShardingError `move_refused` */
export async function assertStillFenced({ source, lease }: Mover): Promise<void> {
  if ((await fenceLeft(source, lease.record)) > 0) return;
  throw new ShardingError(
    'move_refused',
    `the fence of move ${lease.record.id} lifted itself after ${lease.record.terms.fenceMs} ms, before everything was verified; rows may have changed: run it again, with more time for the fence`,
  );
}

/** Lets writers at the keys of the source again. */
export async function openSource(mover: Mover): Promise<void> {
  const { source, lease } = mover;
  await lower(source, lease.record);
  await removeTombstones(source, lease.record);
  await tidy(mover, source);
}

/** Takes back what a purge has left that was given up: the keys are routed here, and are written here. */
export async function liftTombstones({ source, lease }: Mover): Promise<void> {
  await removeTombstones(source, lease.record);
}

/** The source refuses the keys from now on; what the mover does there passes. */
export async function raiseTombstones(mover: Mover): Promise<void> {
  const { source, lease, content, signal } = mover;
  await setTombstones(source, orderOf(mover));
  await waitForWriters(source, content.tables, { signal }); // also behind a fence: whoever raised it may have died waiting
  await passFence(source, lease.record);
}

/** Keys that come back to a shard that they had left are no strangers there. */
export async function clearTombstones(mover: Mover): Promise<void> {
  await clearSubjects(mover.destination, mover.content);
  await tidy(mover, mover.destination);
}

/** Triggers that refuse nothing cost a little, and are no reason to stop: whoever reads the tables may read for hours. */
async function tidy({ signal, note }: Mover, side: MoveSession): Promise<void> {
  try {
    await removeIdleFences(side, { signal, limitMs: TIDY_MS });
  } catch (error) {
    if (!(error instanceof ShardingError)) throw error;
    note(
      `${error.message}; the triggers of the fence stay there and refuse nothing: shardctl repair removes them`,
    );
  }
}

function orderOf({ lease, content, signal }: Mover): FenceOrder {
  const { id, epoch, destination } = lease.record;
  return { id, epoch, ...content, otherShard: destination, signal };
}
