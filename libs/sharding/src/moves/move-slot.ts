import { randomUUID } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { assertSameColumns } from './assert-same-tables.js';
import { assertHasRows } from './steps/assert-has-rows.js';
import { assertStaysAtSource, assertRoutedAway, untilReadsKnow } from './assert-routes.js';
import { beginMove, lastPurge, openMove } from './record/begin-move.js';
import { copyRows } from './steps/copy-rows.js';
import { contentOf, differences } from './content.js';
import { assertStillFenced, fenceRows, liftTombstones, openDestination, tidy } from './steps/fence-rows.js';
import { holdStrays, unchangedStrays } from './steps/hold-strays.js';
import { planMove } from './plan-move.js';
import { purgeRows } from './steps/purge-rows.js';
import { readSide } from './move-sides.js';
import { recordVerified } from './record/record-verified.js';
import { withControl, withMover } from './with-mover.js';
import type { MoveCall, MoveFleet, Mover } from './mover.js';
import type { MoveProof, MoveRecord } from './record/move-record.js';
import type { MoveRequest } from './move-request.js';

/**
 * Copies rows to another shard and proves it. The rows stay at the source, and nothing is routed anew: that is the operator's
 * part, and then {@link confirmMove}. The same request again goes on where it was; where the source has changed since, it
 * copies again.
 *
 * @throws ShardingError `move_refused` with all that is in the way; `move_mismatch`
 */
export function moveSlot(request: MoveRequest, fleet: MoveFleet, call: MoveCall): Promise<MoveRecord> {
  return withControl(fleet, call, async (control) => {
    const plan = await planMove(request, fleet, { ...call, control });
    for (const warning of plan.warnings) call.note?.(warning);
    const id = await beginMove(control, { id: randomUUID(), ...plan.move });
    return withMover(fleet, { ...call, control, id }, async (mover) => {
      await mover.reached('planned');
      if (!isProvenRepair(mover)) await untilReadsKnow(mover);
      await assertStaysAtSource(mover);
      if (isProvenRepair(mover)) return mover.lease.record;
      await assertHasRows(mover);
      if (plan.move.terms.reason === undefined) {
        await assertSameColumns(mover.source, mover.content);
        await liftTombstones(mover);
      } else await holdStrays(mover);
      const proof = (await provenCopy(mover)) ?? (await copied(mover));
      if (plan.move.terms.writes === 'fenced') await verifiedBehindFence(mover, proof);
      else await verified(mover, proof);
      return mover.lease.record;
    });
  });
}

/**
 * Deletes the rows at the source, once every key is routed to the destination and every living process knows it.
 *
 * @throws ShardingError `move_refused`, `move_mismatch`
 */
export function confirmMove(request: MoveRequest, fleet: MoveFleet, call: MoveCall): Promise<MoveRecord> {
  return withControl(fleet, call, async (control) => {
    const asked = await planMove(request, fleet, { ...call, control, reads: 'terms' });
    const open = await openMove(control, asked.move);
    if (!open) return purgedBefore(control, asked.move, { request, call });
    return purgeMove(open.id, fleet, { ...call, control });
  });
}

/** The same by the id of a verified move. */
export function purgeMove(
  id: string,
  fleet: MoveFleet,
  call: MoveCall & { readonly control: Mover['control'] },
): Promise<MoveRecord> {
  return withMover(fleet, { ...call, id }, async (mover) => {
    await assertRoutedAway(mover);
    await openDestination(mover); // a mover may have died that began to copy again
    await purgeRows(mover);
    return mover.lease.record;
  });
}

/** Behind its tombstones nothing changes any more; the rows may even be deleted, by a mover that could not record it. */
function isProvenRepair({ lease: { record } }: Mover): boolean {
  return record.terms.reason !== undefined && record.state === 'verified';
}

/** What an earlier mover has committed and both sides still hold; undefined: there is nothing, or it is out of date. */
async function provenCopy({ source, destination, content, lease }: Mover): Promise<MoveProof | undefined> {
  const side = await readSide(destination, lease.record.id);
  if (!side?.copied) return undefined;
  const now = await contentOf(source, content, side.copied.seeds);
  if (lease.record.terms.reason !== undefined) return unchangedStrays(lease.record, side.copied, now);
  const there = await contentOf(destination, content, side.copied.seeds);
  const same = [now, there].every((found) => differences(side.copied as MoveProof, found).length === 0);
  return same ? side.copied : undefined;
}

async function copied(mover: Mover): Promise<MoveProof> {
  const began = performance.now();
  const proof = await copyRows(mover);
  await mover.lease.write({ state: 'copied', ms: Math.round(performance.now() - began), proof });
  await mover.reached('copied');
  return proof;
}

/** The copy was compared in its own snapshot; who keeps writers away from then on is the operator. */
async function verified(mover: Mover, proof: MoveProof): Promise<void> {
  await readyToBeRouted(mover, proof, 0);
}

/** From here on the operator may change the route: the destination takes writes by then. */
async function readyToBeRouted(mover: Mover, proof: MoveProof, ms: number): Promise<void> {
  await openDestination(mover);
  await mover.reached('destination-opened');
  await recordVerified(mover, proof, ms);
  await mover.reached('verified');
  await tidy(mover, mover.destination);
}

async function verifiedBehindFence(mover: Mover, proof: MoveProof): Promise<void> {
  const began = performance.now();
  await fenceRows(mover);
  await mover.lease.write({ state: 'fenced', ms: Math.round(performance.now() - began) });
  await mover.reached('fenced');
  const still = await contentOf(mover.source, mover.content, proof.seeds);
  const current = differences(proof, still).length === 0 ? proof : await copyRows(mover);
  await assertStillFenced(mover);
  await readyToBeRouted(mover, current, Math.round(performance.now() - began));
}

interface Confirmed {
  readonly request: MoveRequest;
  readonly call: MoveCall;
}

/** The purge may have ended unheard. @throws ShardingError `move_refused` where there was none */
async function purgedBefore(
  control: Mover['control'],
  asked: Parameters<typeof lastPurge>[1],
  { request, call }: Confirmed,
): Promise<MoveRecord> {
  const purged = await lastPurge(control, asked);
  if (!purged) throw nothingToConfirm(request);
  call.note?.(
    `move ${purged.id} was purged already, at ${purged.changedAt.toISOString()}: nothing is left to delete`,
  );
  return purged;
}

function nothingToConfirm({ from, to }: MoveRequest): ShardingError {
  return new ShardingError(
    'move_refused',
    `no verified move of these rows from ${from} to ${to} is open: run the same command without --confirm first, or look at "moves"`,
  );
}
