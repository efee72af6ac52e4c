import { checkoutError, described, failureCode, isReadTimeout, statementError } from './database-failure.js';
import { currentScope } from './work-scope.js';
import type { ShardingError } from '@app/routing';
import type { DataSource, QueryRunner } from 'typeorm';
import type { Database } from './database.js';
import type { Backend, WorkScope } from './work-scope.js';

/** What is used of TypeORM's PostgreSQL driver and runner beyond their public types. */
interface Driver {
  master?: unknown;
  obtainMasterConnection(): Promise<[Backend, (error?: Error) => void]>;
  createQueryRunner(mode: 'master' | 'slave'): PostgresRunner;
}

export interface PostgresRunner extends QueryRunner {
  connect(): Promise<Backend & { query(sql: string): Promise<unknown> }>;
  releasePostgresConnection(error?: Error): Promise<void>;
}

/** Statements that leave something behind in the session, apart from what raw SQL may do inside functions. */
const SESSION_STATEMENT =
  /^\s*(set(?!\s+(local|transaction|constraints)\b)|reset|listen|prepare|load|declare|discard|create\s+((local|global)\s+)?temp)/i;

const ROLLBACK = /^rollback/i;

/**
 * Adds to one `DataSource` what TypeORM has no option for: it opens at the first checkout, failures say which target
 * failed, statements belong to the caller's time limit, and no session state or open transaction of one request
 * ever reaches the next one.
 */
export function instrument(source: DataSource, database: Database): void {
  const driver = source.driver as unknown as Driver;
  const obtain = driver.obtainMasterConnection.bind(driver);
  const failed = (error: unknown): never => {
    database.noteFailure(error);
    throw checkoutError(database.target, error);
  };
  driver.obtainMasterConnection = async () => {
    if (!driver.master) await database.open();
    currentScope()?.assertOpen();
    const obtained = await obtain().catch(failed);
    database.noteSuccess();
    return obtained;
  };
  const ShardRunner = shardRunner(driver.createQueryRunner('master').constructor as RunnerClass, database);
  driver.createQueryRunner = (mode) => new ShardRunner(driver, mode);
  const query = source.query.bind(source);
  source.query = async <T>(sql: string, parameters?: unknown[], runner?: QueryRunner): Promise<T> => {
    const used = runner ?? source.createQueryRunner();
    if (used instanceof ShardRunner) used.touched = true; // raw SQL may change the session, also inside functions
    try {
      return await query<T>(sql, parameters, used);
    } finally {
      if (!runner) await used.release();
    }
  };
}

type RunnerClass = new (driver: Driver, mode: 'master' | 'slave') => PostgresRunner;

/** A query runner of one database; a subclass once, because a runner is made for nearly every statement. */
function shardRunner(Base: RunnerClass, database: Database) {
  return class ShardRunner extends Base {
    /** The session may have been changed: the connection is reset before anybody else gets it. */
    touched = false;
    #resetting: Promise<void> | undefined;

    override query(sql: string, ...rest: [unknown[]?, true?]): Promise<never> {
      if (SESSION_STATEMENT.test(sql)) this.touched = true;
      const scope = ROLLBACK.test(sql) ? undefined : currentScope();
      const send = super.query as (...parts: unknown[]) => Promise<never>;
      if (!scope) return send.call(this, sql, ...rest).catch((error: unknown) => this.failed(error));
      return this.sendWithin(scope, () => send.call(this, sql, ...rest));
    }

    override release(): Promise<void> {
      if (this.isReleased || this.#resetting) return this.#resetting ?? Promise.resolve();
      if (this.isTransactionActive) {
        return this.releasePostgresConnection(
          new Error(`${described(database.target)}: transaction left open`),
        );
      }
      if (!this.touched) return super.release();
      this.#resetting = reset(this); // the caller need not wait; the pool gets the connection when it is clean
      return Promise.resolve();
    }

    async sendWithin(scope: WorkScope, statement: () => Promise<never>): Promise<never> {
      scope.assertOpen();
      const backend = await this.connect();
      scope.assertOpen();
      scope.enter(backend, database);
      try {
        return await statement();
      } catch (error) {
        return this.failed(error, scope.reason);
      } finally {
        await scope.leave(backend);
      }
    }

    failed(error: unknown, reason?: ShardingError): never {
      if (isReadTimeout(error)) void this.releasePostgresConnection(new Error('its statement still runs'));
      throw refused(database, error, reason);
    }
  };
}

/** A cancelled statement is told as what cancelled it: the caller's limit, or the close of the database. */
function refused(database: Database, error: unknown, reason?: ShardingError): unknown {
  if (failureCode(error) !== '57014') return statementError(database.target, error);
  return reason ?? database.closedError ?? statementError(database.target, error);
}

async function reset(runner: PostgresRunner): Promise<void> {
  try {
    const client = await runner.connect();
    await client.query('discard all');
    await runner.releasePostgresConnection();
  } catch (error) {
    await runner.releasePostgresConnection(error instanceof Error ? error : new Error('reset failed'));
  }
}
