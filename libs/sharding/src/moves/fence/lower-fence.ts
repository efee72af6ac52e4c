import { fenceSubjects, type FenceSubjects } from './fence-subjects.js';
import { guardedTables } from './guarded-table.js';
import { inTransaction } from '../move-session.js';
import { lockFence } from './with-fence-lock.js';
import { admit, retire } from './retire.js';
import type { FenceOwner } from './fence-rows.js';
import type { MovedRows } from '../scope-filter.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/** Lets writers at the keys again. Twice is fine; what a later epoch has raised stays. */
export function lowerFence(session: MoveSession, owner: FenceOwner): Promise<void> {
  return alone(session, () => retire(session, OF_MOVE, [owner.id, owner.epoch, 'fenced']));
}

/** Takes tombstones away that were set for a purge that was not done. */
export function removeTombstones(session: MoveSession, owner: FenceOwner): Promise<void> {
  return alone(session, () => retire(session, OF_MOVE, [owner.id, owner.epoch, 'moved']));
}

export interface Returning {
  readonly rows: MovedRows;
  readonly tables: readonly MovedTable[];
}

/** The keys come back to this shard: their tombstones go. A key whose slot has left becomes an exception of it. */
export function clearSubjects(session: MoveSession, { rows, tables }: Returning): Promise<void> {
  return alone(session, async () => {
    const guarded = await guardedTables(session, tables, rows.keyKind);
    await clearTombstones(session, await fenceSubjects(session, rows, guarded), 'stay');
  });
}

/**
 * The same in a transaction that is open.
 *
 * @param alone of a slot, whether tombstones of single keys go too: all that live elsewhere are known, and are `kept`
 */
export async function clearTombstones(
  session: MoveSession,
  { subjects, slots, form, kept }: FenceSubjects,
  alone: 'come' | 'stay',
): Promise<void> {
  if (form === 'key') await admit(session, { subjects, slots });
  await retire(session, `f.state = 'moved' and f.subject = any ($1::text[])`, [subjects]);
  if (form === 'key' || alone === 'stay') return;
  const keys = `f.subject >= 'key:' and f.subject < 'slot:' and f.slot = any ($1::int[])`;
  const which = `f.state = 'moved' and ${keys} and f.subject <> all ($2::text[])`;
  await retire(session, which, [slots, kept.subjects]);
}

const OF_MOVE = `f.move_id = $1 and f.epoch <= $2 and f.state = $3`;

function alone(session: MoveSession, work: () => Promise<void>): Promise<void> {
  return inTransaction(session, '', async () => {
    await lockFence(session);
    await work();
  });
}
