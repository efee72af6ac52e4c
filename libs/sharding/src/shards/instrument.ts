import { checkoutError, described, failureCode, statementError } from './database-failure.js';
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
    throw checkoutError(database.target, error);
  };
  driver.obtainMasterConnection = async () => {
    if (!driver.master) await database.open();
    currentScope()?.assertOpen();
    return obtain().catch(failed);
  };
  const create = driver.createQueryRunner.bind(driver);
  driver.createQueryRunner = (mode) => instrumentRunner(create(mode), database);
  const query = source.query.bind(source);
  source.query = async <T>(sql: string, parameters?: unknown[], runner?: QueryRunner): Promise<T> => {
    if (runner) {
      touched(runner);
      return query<T>(sql, parameters, runner);
    }
    const own = source.createQueryRunner();
    try {
      touched(own);
      return await query<T>(sql, parameters, own);
    } finally {
      await own.release();
    }
  };
}

/** Raw SQL may have changed the session: the connection is reset before anybody else gets it. */
const TOUCHED = Symbol('session touched');

function touched(runner: QueryRunner): void {
  (runner as { [TOUCHED]?: true })[TOUCHED] = true;
}

function instrumentRunner(runner: PostgresRunner, database: Database): PostgresRunner {
  const send = runner.query.bind(runner) as (...args: unknown[]) => Promise<never>;
  const failed = (error: unknown): never => {
    throw refused(database, error);
  };
  runner.query = (sql: string, ...rest: unknown[]) => {
    if (SESSION_STATEMENT.test(sql)) touched(runner);
    const scope = ROLLBACK.test(sql) ? undefined : currentScope();
    return scope ? sendWithin(scope, () => send(sql, ...rest)) : send(sql, ...rest).catch(failed);
  };
  const sendWithin = async (scope: WorkScope, statement: () => Promise<never>) => {
    scope.assertOpen();
    const backend = await runner.connect();
    scope.assertOpen();
    scope.enter(backend, database);
    try {
      return await statement();
    } catch (error) {
      throw refused(database, error, scope.reason);
    } finally {
      await scope.leave(backend);
    }
  };
  const release = runner.release.bind(runner);
  let resetting: Promise<void> | undefined;
  runner.release = () => {
    if (runner.isReleased || resetting) return resetting ?? Promise.resolve();
    if (runner.isTransactionActive) {
      return runner.releasePostgresConnection(
        new Error(`${described(database.target)}: transaction left open`),
      );
    }
    if (!(runner as { [TOUCHED]?: true })[TOUCHED]) return release();
    resetting = reset(runner); // the caller need not wait; the pool gets the connection when it is clean
    return Promise.resolve();
  };
  return runner;
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
