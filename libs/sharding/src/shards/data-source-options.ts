import { AsyncResource } from 'node:async_hooks';
import { Logger } from '../logger.js';
import pg from 'pg';
import { failureCode } from './database-failure.js';
import { clientConfig } from '../database-url.js';
import { connectionExtra } from './connection-extra.js';
import { labelOf } from './database-label.js';
import { TargetLogger } from './typeorm-logger.js';
import type { EntityList, PostgresOptions } from '../typeorm.options.js';
import type { DatabaseSettings, TypeOrmSettings } from '../sharding.settings.js';

/**
 * The options of one `DataSource`: limits always set, pool errors logged under the target's name, the
 * password behind a function, and no option that migrates or reads int8 differently for the whole process.
 */
export function dataSourceOptions(
  settings: DatabaseSettings,
  typeorm: TypeOrmSettings,
  entities: EntityList,
): PostgresOptions {
  const { host, port, user, password, database, ssl } = clientConfig(settings.url);
  const { extra, ...options } = typeorm.options;
  const label = labelOf(settings);
  return {
    logger: new TargetLogger(label),
    ...(settings.pooler === 'none' && { applicationName: `nestjs-sharding ${label}` }),
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    ...options,
    ...defined({ host, port, username: user, password, database, ssl: options.ssl ?? ssl }),
    type: 'postgres',
    entities,
    subscribers: typeorm.subscribers,
    poolSize: settings.poolSize,
    connectTimeoutMS: settings.connectTimeoutMs,
    ...(settings.slowQueryThresholdMs > 0 && { maxQueryExecutionTime: settings.slowQueryThresholdMs }),
    poolErrorHandler: poolErrorLogger(label),
    extra: { ...connectionExtra(settings, { extra }), Client: detachedClient() },
  } as PostgresOptions;
}

/**
 * A `pg` client whose socket belongs to no request: whoever opened it lazily would otherwise lend its
 * AsyncLocalStorage context to every later event of the connection.
 */
export function detachedClient(): typeof pg.Client {
  const outside = new AsyncResource('nestjs-sharding.connection');
  return class DetachedClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      this.on('error', () => undefined); // nobody listens between two owners; whoever uses it sees its call fail
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
    override connect(callback?: (error: never, client: never) => void): Promise<pg.Client> | void {
      const listener = callback as ((error: Error) => void) | undefined;
      return outside.runInAsyncScope(() => (listener ? super.connect(listener) : super.connect()));
    }
  };
}

function poolErrorLogger(target: string): (error: unknown) => void {
  const logger = new Logger(target);
  return (error) => logger.warn(`an idle connection was lost (${failureCode(error) ?? 'connection closed'})`);
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  );
}
