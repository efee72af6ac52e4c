import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import type { MigrationSession } from './migration-session.js';

/** How a migrator waits for another one. */
export interface LockWait {
  readonly target: string;
  /** From the first attempt on. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly log: (line: string) => void;
}

const KEY = `hashtextextended('nestjs-sharding.migrations', 0)`;
const POLL_MS = 100;

/**
 * Asks again and again instead of waiting in the server: an index that is built concurrently would wait for the snapshot of
 * the one that waits.
 */
export async function takeMigrationLock({ runner }: MigrationSession, wait: LockWait): Promise<void> {
  const ends = performance.now() + wait.waitMs;
  for (let attempt = 0; !(await tryLock(runner)); attempt++) {
    const holder = await holderOf(runner);
    if (performance.now() >= ends) {
      throw new ShardingError(
        'deadline_exceeded',
        `${wait.target} is being migrated by another migrator${holder}, for longer than ${wait.waitMs / 1000} s: wait for it, or end it`,
      );
    }
    if (attempt === 0) wait.log(`target=${wait.target} waiting for another migrator${holder}`);
    await pause(POLL_MS * (0.5 + Math.random()), undefined, { ...(wait.signal && { signal: wait.signal }) });
  }
  await assertHeld(runner, wait.target);
}

/** A pooler that nobody has told of would have given the lock to the session of somebody else. */
export async function leaveMigrationLock({ runner }: MigrationSession): Promise<void> {
  const [row] = (await runner.query(`select pg_advisory_unlock(${KEY}) as held`)) as { held: boolean }[];
  if (!row?.held) throw new ShardingError('migration_failed', LOST);
}

const LOST =
  'the session lost its lock while it migrated: is there a pooler in between? Set pooler = "transaction" and maintenance_url';

interface Queries {
  query(sql: string): Promise<unknown>;
}

async function tryLock(runner: Queries): Promise<boolean> {
  const [row] = (await runner.query(`select pg_try_advisory_lock(${KEY}) as locked`)) as {
    locked: boolean;
  }[];
  return row?.locked === true;
}

const HELD = `from pg_locks
  where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = ${KEY}`;

async function holderOf(runner: Queries): Promise<string> {
  const [row] = (await runner.query(`select pid ${HELD}`)) as { pid: number }[];
  return row === undefined ? '' : ` (process ${row.pid} of the server)`;
}

async function assertHeld(runner: Queries, target: string): Promise<void> {
  for (let look = 0; look < 2; look++) {
    const rows = (await runner.query(`select pid ${HELD} and pid = pg_backend_pid()`)) as unknown[];
    if (rows.length === 0) throw new ShardingError('migration_failed', `${target}: ${LOST}`);
  }
}
