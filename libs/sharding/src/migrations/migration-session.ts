import { connectedRunner, type PostgresRunner } from '../shards/shard-runner.js';
import { Database } from '../shards/database.js';
import { takeMigrationLock, leaveMigrationLock, type LockWait } from './migration-lock.js';
import { migrationWay } from './migration-way.js';
import type pg from 'pg';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** One database for a migrator: a pool of one connection. Whoever makes it closes it. */
export function migrationDatabase(settings: ShardingSettings, database: DatabaseSettings): Database {
  return new Database({ ...migrationWay(settings, database), entities: [] });
}

/** What was done lasts, whatever the goodbye. */
export async function closed(database: Database): Promise<void> {
  await database.close(0).catch(() => undefined);
}

/** Not bounded by the limits of requests; ends soon after its client has died, and with it what runs there. */
const SESSION = `select set_config(name, case name when 'client_connection_check_interval' then '1000' else '0' end, false)
  from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
    'idle_session_timeout', 'client_connection_check_interval')`;

/** The one session in which a target is migrated. It holds the lock, so that what it runs ends with the lock. */
export interface MigrationSession {
  readonly runner: PostgresRunner;
  /** The connection of the runner. */
  readonly client: pg.Client;
}

/**
 * Lends a session that holds the lock of its target. An abort cancels what runs there.
 *
 * @throws ShardingError `deadline_exceeded` when another migrator holds the lock for too long
 */
export async function inSession<T>(
  database: Database,
  wait: LockWait,
  work: (session: MigrationSession) => Promise<T>,
): Promise<T> {
  const interrupt = () => void database.interrupt().catch(() => undefined);
  wait.signal?.throwIfAborted();
  wait.signal?.addEventListener('abort', interrupt, { once: true });
  try {
    const runner = await connectedRunner(await database.open());
    try {
      const session = { runner, client: (await runner.connect()) as unknown as pg.Client };
      await runner.query(SESSION).catch(() => undefined); // a platform that cannot look after its clients
      await takeMigrationLock(session, wait);
      const value = await work(session);
      await leaveMigrationLock(session);
      return value;
    } finally {
      await runner.release();
    }
  } finally {
    wait.signal?.removeEventListener('abort', interrupt);
  }
}
