import { labelOf } from '../shards/database-label.js';
import { connectionExtra } from '../shards/connection-extra.js';
import { checkoutError, isConnectionFailure } from '../shards/database-failure.js';
import { DatabaseWay } from '../shards/database-way.js';
import { withDedicatedConnection } from '../shards/dedicated-connection.js';
import { migrationWay } from './migration-way.js';
import { migrationsTable, readApplied, readOnly, type Applied } from './read-applied.js';
import type pg from 'pg';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** One question to a database. */
interface Question<T> {
  /** Of everything together, connecting included. */
  readonly limitMs: number;
  work(client: pg.Client): Promise<T>;
}

/**
 * Asks on a connection of its own, by the way of the migrator. Neither TypeORM nor NestJS is loaded for it, unless the
 * application builds its `DataSource`s itself: they know the way then.
 *
 * @throws ShardingError `shard_unavailable`, or the driver's error of a statement
 */
export async function asking<T>(
  settings: ShardingSettings,
  database: DatabaseSettings,
  { limitMs, work }: Question<T>,
): Promise<T> {
  const label = labelOf(database);
  let connected = false;
  try {
    const way = wayTo(settings, database, label);
    const { connectTimeoutMs: connectionTimeoutMillis } = database;
    const config = { ...(await way.direct(limitMs)), connectionTimeoutMillis };
    const options = { config, limitMs, applicationName: way.applicationName('migrations') };
    return await withDedicatedConnection(options, (client) => {
      connected = true;
      return work(client);
    });
  } catch (cause) {
    throw connected && !isConnectionFailure(cause) ? cause : checkoutError(label, cause);
  }
}

function wayTo(settings: ShardingSettings, database: DatabaseSettings, label: string): DatabaseWay {
  const way = migrationWay(settings, database);
  const { ssl, extra } = way.typeorm.options;
  const build = async () => {
    const { migrationDatabase } = await import('./migration-session.js');
    return migrationDatabase(settings, database).build(); // not opened, so that there is nothing to close
  };
  return new DatabaseWay({
    label,
    settings: way.settings,
    options: { ...(ssl !== undefined && { ssl }), extra: connectionExtra(way.settings, { extra }) },
    build: way.typeorm.createDataSource && build,
  });
}

/** What is recorded in a database, read on a connection of its own. @throws as {@link asking} */
export function appliedIn(settings: ShardingSettings, database: DatabaseSettings): Promise<Applied> {
  const table = migrationsTable(settings);
  return asking(settings, database, {
    limitMs: 2 * database.connectTimeoutMs,
    work: (client) => readOnly(client, () => readApplied(client, table)),
  });
}
