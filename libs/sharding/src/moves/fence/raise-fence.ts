import { ShardingError } from '@app/routing';
import { fenceSubjects } from './fence-subjects.js';
import { guardedTables } from './guarded-table.js';
import { inTransaction } from '../move-session.js';
import { installFence, isGuarded } from './install-fence.js';
import { lockFence } from './with-fence-lock.js';
import * as rows from './fence-rows.js';
import type { FenceOwner, Obstacle } from './fence-rows.js';
import type { FencePatience } from './with-fence-lock.js';
import type { FenceSubjects } from './fence-subjects.js';
import type { MovedRows } from '../scope-filter.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/** What is fenced, by whom. */
export interface FenceOrder extends FenceOwner, FencePatience {
  readonly rows: MovedRows;
  readonly tables: readonly MovedTable[];
  /** Where the keys go, for people. */
  readonly otherShard: string;
}

/**
 * Refuses writes of the keys for a while; again: for a while from now. Puts triggers where they are missing. Writers that were
 * there before are to be waited for.
 *
 * @throws ShardingError `move_refused` where another move has the keys, or a later epoch of this one
 */
export async function raiseFence(session: MoveSession, order: FenceOrder, forMs: number): Promise<void> {
  await guarded(session, order, (subjects) =>
    put(session, { ...order, ...subjects, state: 'fenced', forMs }),
  );
}

/**
 * Refuses writes of the keys until they come back.
 *
 * Writers that were there before are to be waited for, also where the fence was unbroken: nobody may have waited for them then.
 *
 * @returns `unbroken` where fences of this move stood for all of the keys until after the commit: nobody has begun to write
 *   since they were raised
 * @throws ShardingError `move_refused` where another move has the keys, or a later epoch of this one
 */
export async function setTombstones(session: MoveSession, order: FenceOrder): Promise<'unbroken' | 'broken'> {
  const until = await guarded(session, order, async (subjects) => {
    const fenced = await rows.fencedUntil(session, order, subjects);
    await put(session, { ...order, ...subjects, state: 'moved' });
    return fenced;
  });
  return until !== undefined && (await rows.isBefore(session, until)) ? 'unbroken' : 'broken';
}

/** Somebody who removes idle triggers may come between two statements, and not often. */
const ATTEMPTS = 5;

/** Runs `work` in a transaction in which the triggers are there, and stay. */
export async function guarded<T>(
  session: MoveSession,
  order: FenceOrder,
  work: (subjects: FenceSubjects) => Promise<T>,
): Promise<T> {
  const { keyKind } = order.rows;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await installFence(session, order.tables, { ...order, keyKind });
    const done = await inTransaction(session, '', async () => {
      await lockFence(session);
      const tables = await guardedTables(session, order.tables, keyKind);
      if (!(await isGuarded(session, tables))) return undefined;
      return { value: await work(await fenceSubjects(session, order.rows, tables)) };
    });
    if (done) return done.value;
  }
  throw new ShardingError('move_refused', 'the triggers of the fence are removed as often as they are made');
}

/** @throws ShardingError `move_refused` where another move has the keys, or a later epoch of this one */
export async function put(session: MoveSession, order: rows.PutOrder): Promise<void> {
  if (await rows.isLate(session, order)) throw late(order);
  const [obstacle] = await rows.obstacles(session, order, order);
  if (obstacle)
    throw obstacle.moveId === order.id && obstacle.state !== 'moved' ? late(order) : taken(obstacle);
  await rows.noteRaise(session);
  if (order.form === 'slot') await rows.dropOldExceptions(session, order);
  await rows.putSubjects(session, order);
  if (order.form === 'slot') await rows.putExceptions(session, order);
}

function late({ id }: FenceOwner): ShardingError {
  return new ShardingError('move_refused', `move ${id} is done by another process by now`);
}

function taken({ subject, state, moveId }: Obstacle): ShardingError {
  const [form, ...name] = subject.split(':');
  const what = form === 'slot' ? `slot ${name.join(':')}` : 'a key';
  const how = { fenced: 'is fenced', moved: 'has left this shard', incoming: 'is coming here' }[state];
  return new ShardingError('move_refused', `no fence: ${what} ${how} by move ${moveId}`);
}
