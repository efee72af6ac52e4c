import { clearTombstones } from './lower-fence.js';
import { guarded, put, type FenceOrder } from './raise-fence.js';
import { inTransaction, type MoveSession } from '../move-session.js';
import { lockFence } from './with-fence-lock.js';
import { noteRaise, putBack, standing, type FenceOwner, type FenceRow } from './fence-rows.js';
import { retire } from './retire.js';
import { quoted } from '../quoted.js';

export interface ComingOrder extends FenceOrder {
  /** Of a slot: what becomes of keys that had left alone, and are not kept elsewhere by a pin. */
  readonly alone: 'come' | 'stay';
}

/** Told, in the same transaction, how to learn what stood there before. */
export type Remember = (before: () => Promise<readonly FenceRow[]>) => Promise<void>;

/**
 * Refuses writes of keys that come to this shard, until {@link openFor}; tombstones that they had left here go. Keys that a pin
 * keeps here go on. Writers that were there before are to be waited for.
 *
 * @throws ShardingError `move_refused` where another move has the keys, or a later epoch of this one
 */
export function closeFor(session: MoveSession, order: ComingOrder, remember: Remember): Promise<void> {
  return guarded(session, order, async (subjects) => {
    await remember(() => standing(session, subjects));
    await clearTombstones(session, subjects, order.alone);
    await put(session, { ...order, ...subjects, state: 'incoming' });
  });
}

/** Lets writers at keys that have arrived. @returns whether they were kept away */
export async function openFor(session: MoveSession, { id, epoch }: FenceOwner): Promise<boolean> {
  const which = `f.move_id = $1 and f.epoch <= $2 and f.state = 'incoming'`;
  const { rows } = await session.client.query(
    `select from ${quoted(session.schema)}._sharding_fence f where ${which} limit 1`,
    [id, epoch],
  );
  if (rows.length === 0) return false;
  await inTransaction(session, '', async () => {
    await lockFence(session);
    await retire(session, which, [id, epoch]);
  });
  return true;
}

/** Keys do not come after all: what the shard refused before it refuses again. */
export function refuseAsBefore(
  session: MoveSession,
  order: FenceOrder,
  { before, forget }: { readonly before: readonly FenceRow[]; readonly forget: () => Promise<void> },
): Promise<void> {
  return guarded(session, order, async (subjects) => {
    await noteRaise(session);
    await putBack(session, subjects, before);
    await forget();
  });
}
