import { ShardingError } from '@app/routing';
import { claimSide, readSide, writeSide } from '../move-sides.js';
import { clearSubjects, lowerFence as lower, removeTombstones } from '../fence/lower-fence.js';
import { closeFor, openFor, refuseAsBefore } from '../fence/receive.js';
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

/**
 * Nobody writes at the destination while rows come there. To that of a repair its keys are routed already: there only
 * tombstones go, that they may have left.
 */
export async function closeDestination(mover: Mover): Promise<void> {
  const { destination, lease, content, signal, fleet } = mover;
  const { record } = lease;
  if (record.terms.reason !== undefined) {
    await clearSubjects(destination, content);
    return tidy(mover, destination);
  }
  const pinned = fleet.directory === 'obeyed' && record.terms.keyKind === 'text';
  const alone = pinned ? 'come' : 'stay';
  await closeFor(destination, { ...orderOf(mover), otherShard: record.source, alone }, async (before) => {
    const done = await claimSide(destination, record, 'destination');
    if (!done?.before) await writeSide(destination, record.id, { ...done, before: await before() });
  });
  await waitForWriters(destination, content.tables, { signal });
  await mover.reached('destination-closed');
}

/** The copy is whole: whoever is routed to it may write. Whose keys are pinned here was not kept away. */
export async function openDestination({ destination, lease }: Mover): Promise<void> {
  await openFor(destination, lease.record);
}

/** After an abort the destination refuses what it did before, which may be the very keys: they had left it once. */
export async function restoreDestination(mover: Mover): Promise<void> {
  const { destination, lease } = mover;
  const { record } = lease;
  const before = (await readSide(destination, record.id))?.before;
  if (!before) return;
  await refuseAsBefore(
    destination,
    { ...orderOf(mover), otherShard: record.source },
    {
      before,
      forget: async () => {
        await claimSide(destination, record, 'destination');
        await writeSide(destination, record.id, undefined);
      },
    },
  );
  await tidy(mover, destination);
}

/** Triggers that refuse nothing cost a little, and are no reason to stop: whoever reads the tables may read for hours. */
export async function tidy({ signal, note }: Mover, side: MoveSession): Promise<void> {
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
