import { ShardingError } from '@app/routing';
import { assertSame, contentOf } from '../content.js';
import { assertStaysAtSource } from '../assert-routes.js';
import { claimSide, readSide, writeSide } from '../move-sides.js';
import { inTransaction } from '../move-session.js';
import { newSeeds } from '../fingerprint.js';
import { routesOf } from '../routes.js';
import { raiseTombstones } from './fence-rows.js';
import type { MoveProof, MoveRecord } from '../record/move-record.js';
import type { Mover } from '../mover.js';

const SNAPSHOT = 'isolation level repeatable read read only';

/**
 * Makes rows still that are where their key is not routed: the shard refuses the key from now on, as it should have. They are
 * copied once, to a destination that is alive, and never again. Where the destination has the same rows already, those are the copy.
 *
 * @throws MoveMismatch where they are not the same
 */
export async function holdStrays(mover: Mover): Promise<void> {
  await raiseTombstones(mover);
  await mover.reached('tombstones-set');
  if (mover.lease.record.terms.reason === 'duplicate') await adoptCopy(mover);
}

async function adoptCopy({ source, destination, content, lease }: Mover): Promise<void> {
  const { record } = lease;
  if ((await readSide(destination, record.id))?.copied) return;
  const seeds = newSeeds();
  const [here, there] = await Promise.all(
    [source, destination].map((side) => inTransaction(side, SNAPSHOT, () => contentOf(side, content, seeds))),
  );
  const proof = here as MoveProof;
  const message = `${record.destination} does not hold the same rows as ${record.source}, and nothing was deleted`;
  assertSame(message, proof, there as MoveProof);
  await inTransaction(destination, '', async () => {
    await claimSide(destination, record, 'destination');
    await writeSide(destination, record.id, { copied: proof });
  });
}

/** The destination is alive: it may differ from what was copied, and is not written again. @throws MoveMismatch */
export function unchangedStrays({ source }: MoveRecord, copied: MoveProof, now: MoveProof): MoveProof {
  assertSame(
    `${source} no longer holds what was brought home from there, and nothing was deleted`,
    copied,
    now,
  );
  return copied;
}

/**
 * Before a copy is taken away. That of a repair may be in use, unless its keys are routed to the source by now.
 *
 * @throws ShardingError `move_refused` once somebody may have written there
 */
export async function assertMayAbort(mover: Mover): Promise<void> {
  const { destination, lease, control, fleet } = mover;
  const { id, terms, source, destination: name, group, scope } = lease.record;
  if (terms.reason === undefined) return assertStaysAtSource(mover);
  if (!(await readSide(destination, id))?.copied) return;
  const routes = await routesOf(control, fleet, { group, scope, keyKind: terms.keyKind });
  if ([...routes.keys()].every((shard) => shard === source)) return;
  throw new ShardingError(
    'move_refused',
    `the rows are at ${name}, where they are in use, and are not taken away again: go on with move ${id} (shardctl repair)`,
  );
}
