import { AsyncResource } from 'node:async_hooks';
import { Logger } from '../logger.js';
import pg from 'pg';
import { failureCode } from './database-failure.js';
import { clientConfig } from '../database-url.js';
import { MAX_TIMER_MS } from './work-scope.js';
import { TargetLogger } from './typeorm-logger.js';
import type { EntityList, PostgresOptions } from '../typeorm.options.js';
import type { DatabaseSettings, TypeOrmSettings } from '../sharding.settings.js';

/** Query parameters of a URL that reach the connection; others, such as `max`, would bypass the limits. */
const URL_PARAMETERS = new Set([
  'application_name',
  'client_encoding',
  'fallback_application_name',
  'options',
]);

/** How much longer than the server this side waits for a statement: a server that is well ends it first. */
export const ANSWER_GRACE_MS = 5000;

/** How long this side waits for a statement, 0 without a bound; at most what a timer of Node can do. */
export function answerLimit(statementTimeoutMs: number): number {
  return statementTimeoutMs === 0 ? 0 : Math.min(statementTimeoutMs + ANSWER_GRACE_MS, MAX_TIMER_MS);
}

/** `control`, `shard:<name>`, or with `:replica` behind it: the name of a database in logs and errors. */
export function labelOf({ target, role }: Pick<DatabaseSettings, 'target' | 'role'>): string {
  return role === 'replica' ? `${target}:replica` : target;
}

/**
 * The options of one `DataSource`: limits always set, pool errors logged under the target's name, the
 * password behind a function, and no option that migrates or reads int8 differently for the whole process.
 */
export function dataSourceOptions(
  settings: DatabaseSettings,
  typeorm: TypeOrmSettings,
  entities: EntityList,
): PostgresOptions {
  const { host, port, user, password, database, ssl, ...rest } = clientConfig(settings.url);
  const fromUrl = Object.fromEntries(Object.entries(rest).filter(([key]) => URL_PARAMETERS.has(key)));
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
    extra: {
      keepAlive: true,
      ...fromUrl, // the user's own words: a pooler that does not take them says so
      ...limits(settings, fromUrl['options']),
      ...extra,
      Client: detachedClient(),
    },
  } as PostgresOptions;
}

/** A transaction-mode pooler takes no startup parameters: there the server's limits are set in each transaction. */
function limits(settings: DatabaseSettings, options: unknown): Record<string, unknown> {
  const { statementTimeoutMs, idleInTransactionTimeoutMs, pooler, role } = settings;
  const query_timeout = answerLimit(statementTimeoutMs);
  return {
    ...(statementTimeoutMs > 0 && { query_timeout }),
    ...(pooler === 'none' && {
      ...(statementTimeoutMs > 0 && { statement_timeout: statementTimeoutMs }),
      ...(idleInTransactionTimeoutMs > 0 && {
        idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
      }),
      ...(role === 'replica' && {
        options: [options, '-c default_transaction_read_only=on'].filter(Boolean).join(' '), // also once it is promoted
      }),
    }),
  };
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
