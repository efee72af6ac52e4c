import { isDeepStrictEqual } from 'node:util';
import { assertNoOtherRefers, assertSameColumns } from '../assert-same-tables.js';
import { assertRoutedAway } from '../assert-routes.js';
import { assertSame, contentOf } from '../content.js';
import { claimSide, readSide, writeSide } from '../move-sides.js';
import { deleteRows } from './remove-copy.js';
import { endMove } from '../record/end-move.js';
import { inTransaction } from '../move-session.js';
import { openSource, raiseTombstones } from './fence-rows.js';
import { asRole } from './as-role.js';
import { ShardingError } from '@app/routing';
import type { MoveProof } from '../record/move-record.js';
import type { Mover } from '../mover.js';

/**
 * Deletes the rows at the source, which refuses the keys from now on. Only what was verified is deleted, and all of it.
 *
 * @throws MoveMismatch when the source is no longer what was verified: nothing was deleted
 */
export async function purgeRows(mover: Mover): Promise<void> {
  const began = performance.now();
  const { source, lease } = mover;
  const { proof } = lease.record;
  if (!proof) throw new ShardingError('move_refused', `move ${lease.record.id} has no proof`);
  await assertCopyStands(mover, proof);
  await raiseTombstones(mover);
  await mover.reached('tombstones-set');
  try {
    await assertRoutedAway(mover).catch(giveUp(mover)); // waiting took time, in which the route may have changed
    await inTransaction(source, '', () => purge(mover, proof));
  } catch (error) {
    if (error instanceof ShardingError && error.code === 'move_mismatch') await openSource(mover);
    throw error;
  }
  await mover.reached('purge-committed');
  await endMove(mover, 'purged', Math.round(performance.now() - began));
  await mover.reached('purged');
}

/** The source, where it has its rows still, may be where the keys are routed. */
const giveUp = (mover: Mover) => async (error: unknown) => {
  const isRefused = error instanceof ShardingError && error.code === 'move_refused';
  if (isRefused && !(await readSide(mover.source, mover.lease.record.id))?.purged) await openSource(mover);
  throw error;
};

/**
 * The copy at the destination is the one that was verified: a later one may have committed unheard, and a server that was put
 * back to an earlier moment has none.
 *
 * @throws ShardingError `move_refused`
 */
async function assertCopyStands({ destination, lease }: Mover, proof: MoveProof): Promise<void> {
  const { id, destination: name } = lease.record;
  if (isDeepStrictEqual((await readSide(destination, id))?.copied, proof)) return;
  throw new ShardingError(
    'move_refused',
    `${name} does not know of the copy that move ${id} has verified, and nothing was deleted: look what is there (shardctl verify), route the keys back, and run the move again or abort it`,
  );
}

async function purge(mover: Mover, proof: MoveProof): Promise<void> {
  const { source, content, lease } = mover;
  const { id, source: name } = lease.record;
  const done = await claimSide(source, lease.record, 'source');
  if (done?.purged) return; // by a mover that could not record it
  const message = `${name} no longer holds what was verified, and nothing was deleted`;
  assertSame(message, proof, await contentOf(source, content, proof.seeds));
  await asRole(source, content, 'source');
  const counts = await deleteRows(source, content);
  await assertNoOtherRefers(source, content); // the deletes keep others from changing the tables now
  if (lease.record.terms.reason === undefined) await assertSameColumns(source, content);
  const expected = proof.tables.map(({ rows }) => rows);
  if (counts.some((count, at) => count !== expected[at])) {
    throw new ShardingError(
      'move_refused',
      `${name} deleted other rows than were counted (triggers, or foreign keys that cascade), and was rolled back`,
    );
  }
  const purged = Object.fromEntries(proof.tables.map(({ table, rows }) => [table, rows]));
  await writeSide(source, id, { purged });
  await mover.reached('rows-deleted');
}
