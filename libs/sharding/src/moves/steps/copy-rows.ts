import { assertSame, contentOfBoth } from '../content.js';
import { asRole } from './as-role.js';
import { assertReferences } from '../assert-references.js';
import { closeDestination } from './fence-rows.js';
import { claimSide, writeSide } from '../move-sides.js';
import { copyTable } from '../copy-table.js';
import { expectedRows } from '../expected-rows.js';
import { inTransaction } from '../move-session.js';
import { newSeeds } from '../fingerprint.js';
import { raiseSequences } from '../raise-sequences.js';
import { removeCopy } from './remove-copy.js';
import { tableName } from '../tables/moved-table.js';
import type { MoveProof } from '../record/move-record.js';
import type { Mover } from '../mover.js';

const SNAPSHOT = 'isolation level repeatable read read only';

/**
 * Copies the rows: read in one snapshot of the source, written and checked in one transaction of the destination. An earlier
 * copy of this move is replaced. A copy that does not equal its source is never committed.
 *
 * @throws MoveMismatch
 */
export async function copyRows(mover: Mover): Promise<MoveProof> {
  const { source, destination, content } = mover;
  await closeDestination(mover);
  const proof = await inTransaction(source, SNAPSHOT, async () => {
    await raiseSequences(destination, source, content);
    await mover.reached('sequences-raised');
    return inTransaction(destination, '', () => replaceCopy(mover));
  });
  await mover.reached('copy-committed');
  return proof;
}

async function replaceCopy(mover: Mover): Promise<MoveProof> {
  const { source, destination, content, lease } = mover;
  const done = await claimSide(destination, lease.record, 'destination');
  const role = await asRole(destination, content, 'destination');
  if (done?.copied) await removeCopy(mover, done.copied);
  await destination.client.query('set constraints all deferred');
  await copyTables(mover);
  const [proof, arrived] = await contentOfBoth([source, destination], content, newSeeds());
  assertSame(`${lease.record.destination} did not get what ${lease.record.source} holds`, proof, arrived);
  if (role === 'replica') await assertReferences(destination, content);
  await writeSide(destination, lease.record.id, { ...done, copied: proof });
  await mover.reached('rows-copied');
  return proof;
}

async function copyTables({ content, source, destination, ...mover }: Mover): Promise<void> {
  const { id, terms, source: name } = mover.lease.record;
  const { slotCount } = mover.fleet.topology.byName(name);
  const of = { source, rows: content.rows, slotCount };
  for (const table of content.tables) {
    const about = {
      move: id,
      step: 'copy',
      table: tableName(table),
      expected: await expectedRows(table, of),
    } as const;
    let bytes = 0;
    mover.progress({ ...about, bytes });
    const rows = await copyTable(table, {
      source,
      destination,
      rows: content.rows,
      throttle: terms.throttle,
      signal: mover.signal,
      progress: (more) => mover.progress({ ...about, bytes: (bytes += more) }),
    });
    mover.progress({ ...about, bytes, rows });
  }
}
