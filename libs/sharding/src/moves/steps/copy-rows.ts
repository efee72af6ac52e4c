import { assertSame, contentOf } from '../content.js';
import { asRole } from './as-role.js';
import { assertReferences } from '../assert-references.js';
import { closeDestination } from './fence-rows.js';
import { claimSide, writeSide } from '../move-sides.js';
import { copyTable } from '../copy-table.js';
import { expectedRows } from '../expected-rows.js';
import { inSession } from '../in-session.js';
import { inTransaction, type MoveSession } from '../move-session.js';
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
    const { rows } = await source.client.query<{ snapshot: string }>(
      'select pg_export_snapshot() as snapshot',
    );
    return inTransaction(destination, '', () => replaceCopy(mover, rows[0]?.snapshot ?? ''));
  });
  await mover.reached('copy-committed');
  return proof;
}

async function replaceCopy(mover: Mover, snapshot: string): Promise<MoveProof> {
  const { destination, content, lease } = mover;
  const done = await claimSide(destination, lease.record, 'destination');
  const role = await asRole(destination, content, 'destination');
  if (done?.copied) await removeCopy(mover, done.copied);
  await destination.client.query('set constraints all deferred');
  const [proof] = await allOrNone(mover.signal, [
    (signal) => witness(mover, { snapshot, signal }),
    (signal) => copyTables(mover, signal),
  ]);
  const arrived = await contentOf(destination, content, proof.seeds);
  assertSame(`${lease.record.destination} did not get what ${lease.record.source} holds`, proof, arrived);
  if (role === 'replica') await assertReferences(destination, content);
  await writeSide(destination, lease.record.id, { ...done, copied: proof });
  await mover.reached('rows-copied');
  return proof;
}

async function copyTables(
  { content, source, destination, ...mover }: Mover,
  signal: AbortSignal,
): Promise<void> {
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
      signal,
      progress: (more) => mover.progress({ ...about, bytes: (bytes += more) }),
    });
    mover.progress({ ...about, bytes, rows });
  }
}

/** A second session reads the same snapshot while the first one copies it. */
function witness(
  { fleet, lease, content }: Mover,
  { snapshot, signal }: { readonly snapshot: string; readonly signal: AbortSignal },
): Promise<MoveProof> {
  const { id, source } = lease.record;
  const place = { database: fleet.shard(source), purpose: `move ${id.slice(0, 8)} check`, signal };
  return inSession(place, (session) =>
    inTransaction(session, SNAPSHOT, async () => {
      await useSnapshot(session, snapshot);
      return contentOf(session, content, newSeeds());
    }),
  );
}

/** It takes no parameters; the name is the server's own. */
async function useSnapshot({ client }: MoveSession, snapshot: string): Promise<void> {
  await client.query(`set transaction snapshot ${client.escapeLiteral(snapshot)}`);
}

type Both<A, B> = [(signal: AbortSignal) => Promise<A>, (signal: AbortSignal) => Promise<B>];

/** The failure of one ends the other; nothing runs on afterwards. */
async function allOrNone<A, B>(outer: AbortSignal, [first, second]: Both<A, B>): Promise<[A, B]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  let failure: { readonly error: unknown } | undefined;
  const watched = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      failure ??= { error };
      stop.abort(error);
      throw error;
    });
  const [a, b] = await Promise.allSettled([watched(first(signal)), watched(second(signal))]);
  if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value];
  throw failure?.error;
}
