import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { described, lockHolders } from './lock-holders.js';
import { inTransaction } from '../move-session.js';
import { tableName } from '../tables/moved-table.js';
import type { GuardedTable } from './guarded-table.js';
import type { MoveSession } from '../move-session.js';

/** How long locks that others hold are asked for, all attempts together. */
export interface FencePatience {
  /** Default 10,000. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export const PATIENCE_MS = 10_000;

/** Of one attempt: as long as this everybody else waits behind it. */
const LOCK_TIMEOUT_MS = 200;
/** Not available, deadlock. */
const LOCK_FAILURES = new Set(['55P03', '40P01']);
/** What keeps a trigger from being made, or dropped. */
const IN_THE_WAY = [
  'AccessShareLock',
  'RowShareLock',
  'RowExclusiveLock',
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];
const BESIDE_READS = IN_THE_WAY.slice(2);

/** One mover at a time changes what is fenced, and what guards it, on a shard. To the end of the transaction. */
export async function lockFence({ client }: MoveSession): Promise<void> {
  await client.query(`select pg_advisory_xact_lock(hashtextextended('nestjs_sharding.fence', 0))`);
}

export interface Contended extends FencePatience {
  readonly table: Pick<GuardedTable, 'schema' | 'name' | 'tree'>;
  /** Whether the statements wait for readers too. */
  readonly waitsFor: 'writers' | 'everybody';
}

/**
 * Runs DDL on one table in a transaction, under {@link lockFence}. It gives up a lock at once and tries again after a while.
 *
 * @throws ShardingError `move_refused`, which names who had the lock to the end
 */
export async function withFenceLock<T>(
  session: MoveSession,
  contended: Contended,
  ddl: () => Promise<T>,
): Promise<T> {
  const { limitMs = PATIENCE_MS, signal } = contended;
  const deadline = performance.now() + limitMs;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await inTransaction(session, '', async () => {
        await session.client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        await lockFence(session);
        return ddl();
      });
    } catch (error) {
      if (!isLockFailure(error)) throw error;
      if (performance.now() >= deadline) throw await heldLock(session, contended, error);
    }
    await pause(LOCK_TIMEOUT_MS * (0.5 + Math.random()), undefined, { ...(signal && { signal }) });
  }
}

async function heldLock(
  session: MoveSession,
  { table, waitsFor, limitMs = PATIENCE_MS }: Contended,
  cause: unknown,
) {
  const holders = await lockHolders(session, table.tree, waitsFor === 'writers' ? BESIDE_READS : IN_THE_WAY);
  const message = `table ${tableName(table)} was not free within ${limitMs} ms; its lock is held by ${described(holders)}`;
  return new ShardingError('move_refused', message, { cause });
}

function isLockFailure(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && LOCK_FAILURES.has(String(error.code))
  );
}
