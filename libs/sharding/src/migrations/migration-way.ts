import type { DatabaseSettings, ShardingSettings, TypeOrmSettings } from '../sharding.settings.js';

/** A statement may take hours, so the network alone tells that nobody is there any more. */
const KEEP_ALIVE = { keepAliveInitialDelayMillis: 10_000 };

/** How a database is reached. */
interface MigrationWay {
  readonly settings: DatabaseSettings;
  readonly typeorm: TypeOrmSettings;
}

/**
 * How a migrator reaches a database: one connection, and nothing there is bounded by the limits of requests. Around a pooler
 * where the configuration knows a way; one that nobody has told of refuses the parameter `lock_timeout`, as it must.
 */
export function migrationWay(
  { typeorm, migrations }: ShardingSettings,
  { maintenanceUrl, ...given }: DatabaseSettings,
): MigrationWay {
  const { options, subscribers, createDataSource } = typeorm;
  const pooler = maintenanceUrl ? 'none' : given.pooler;
  const lock = pooler === 'none' && { lock_timeout: migrations.lockTimeoutMs };
  return {
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
  };
}
