import { connectedRunner, type PostgresRunner } from '../shards/shard-runner.js';
import { checkoutError, isConnectionFailure } from '../shards/database-failure.js';
import { Database } from '../shards/database.js';
import { takeMigrationLock, leaveMigrationLock, type LockWait } from './migration-lock.js';
import { readApplied, readOnly, migrationsTable, type Applied } from './read-applied.js';
import type pg from 'pg';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationTarget } from './migration-target.js';

/**
 * The database of one target for a migrator: a pool of one connection. Around a pooler where the configuration knows a way;
 * one that nobody has told of refuses the parameter `lock_timeout`, as it must.
 * Whoever makes it closes it.
 */
export function migrationDatabase(
  { typeorm, migrations }: ShardingSettings,
  { settings }: Pick<MigrationTarget, 'settings'>,
): Database {
  const { maintenanceUrl, ...given } = settings;
  const { options, subscribers, createDataSource } = typeorm;
  const pooler = maintenanceUrl ? 'none' : given.pooler;
  const lock = pooler === 'none' && { lock_timeout: migrations.lockTimeoutMs };
  return new Database({
    settings: {
      ...given,
      url: maintenanceUrl ?? given.url,
      pooler,
      poolSize: 1,
      statementTimeoutMs: 0,
      idleInTransactionTimeoutMs: 0,
      slowQueryThresholdMs: 0,
    },
    typeorm: {
      options: { ...options, extra: { ...(options.extra as object), ...KEEP_ALIVE, ...lock } },
      subscribers,
      shardEntities: [],
      controlEntities: [],
      ...(createDataSource && { createDataSource }),
    },
    entities: [],
  });
}

/** What is recorded in a database, read on a connection of its own. @throws ShardingError `shard_unavailable`, or the driver's error of a statement */
export function appliedIn(database: Database, settings: ShardingSettings, limitMs: number): Promise<Applied> {
  const table = migrationsTable(settings);
  return asking(database, limitMs, (client) => readOnly(client, () => readApplied(client, table)));
}

/** A statement may take hours, so the network alone tells that nobody is there any more. */
const KEEP_ALIVE = { keepAliveInitialDelayMillis: 10_000 };

/** What was done lasts, whatever the goodbye. */
export async function closed(database: Database): Promise<void> {
  await database.close(0).catch(() => undefined);
}

/** Asks on a connection of its own. @throws ShardingError `shard_unavailable`, or the driver's error of a statement */
export async function asking<T>(
  database: Database,
  limitMs: number,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  let connected = false;
  try {
    return await database.dedicated('migrations', limitMs, (client) => {
      connected = true;
      return work(client);
    });
  } catch (cause) {
    throw connected && !isConnectionFailure(cause) ? cause : checkoutError(database.label, cause);
  }
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
