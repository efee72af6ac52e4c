import { QueryFailedError } from 'typeorm';
import { ShardingError } from '@app/routing';
import { checkoutError, described, failureCode, isReadTimeout, statementError } from './database-failure.js';
import { currentScope } from './work-scope.js';
import type { DataSource, QueryRunner } from 'typeorm';
import type { Database } from './database.js';
import type { Backend, WorkScope } from './work-scope.js';

/** What is used of TypeORM's PostgreSQL driver and runner beyond their public types. */
interface Driver {
  master?: unknown;
  obtainMasterConnection(): Promise<[Backend, (error?: Error) => void]>;
  createQueryRunner(mode: 'master' | 'slave'): PostgresRunner;
}

/** What is used of a `pg` client. */
interface Client extends Backend {
  query(sql: string): Promise<{ command: string }>;
  /** `I` idle, `T` in a transaction, `E` in an aborted one; null before the first answer. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null;
}

export interface PostgresRunner extends QueryRunner {
  connect(): Promise<Client>;
  releasePostgresConnection(error?: Error): Promise<void>;
}

/** What leaves something behind in the session; a false alarm costs one reset. */
const SESSION_STATEMENT =
  /(^|;|\*\/|\n)\s*(set(?!\s+(local|transaction|constraints)\b)|reset|listen|prepare|load|declare|discard|do|call|begin|start\s+transaction|create\s+((local|global)\s+)?temp)|set_config|advisory_lock/i;

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
    } catch (error) {
      throw statementError(database.target, error);
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
      const send = (sql === 'COMMIT' ? this.commit : super.query) as (...parts: unknown[]) => Promise<never>;
      if (!scope) return send.call(this, sql, ...rest).catch((error: unknown) => this.failed(error));
      return sendWithin(scope, { runner: this, database }, () => send.call(this, sql, ...rest));
    }

    override release(): Promise<void> {
      if (this.isReleased || this.#resetting) return this.#resetting ?? Promise.resolve();
      const { databaseConnection: client } = this as { databaseConnection?: Client };
      const status = client?.getTransactionStatus() ?? 'I';
      if (this.isTransactionActive || status !== 'I') {
        return this.releasePostgresConnection(
          new Error(`${described(database.target)}: transaction left open`),
        );
      }
      if (!this.touched) return super.release();
      this.#resetting = reset(this); // the caller need not wait; the pool gets the connection when it is clean
      return Promise.resolve();
    }

    async commit(): Promise<unknown[]> {
      return commitOn(await this.connect(), database.target);
    }

    /** @throws what the caller gets for a failed statement */
    failed(error: unknown, reason?: ShardingError): never {
      if (isReadTimeout(error)) void this.releasePostgresConnection(new Error('its statement still runs'));
      throw refused(database, error, reason);
    }
  };
}

/** Sends one statement that the scope can cancel. */
async function sendWithin(
  scope: WorkScope,
  {
    runner,
    database,
  }: {
    runner: PostgresRunner & { failed(error: unknown, reason?: ShardingError): never };
    database: Database;
  },
  statement: () => Promise<never>,
): Promise<never> {
  scope.assertOpen();
  const backend = await runner.connect();
  scope.assertOpen();
  scope.enter(backend, database);
  try {
    return await statement();
  } catch (error) {
    return runner.failed(error, scope.reason);
  } finally {
    await scope.leave(backend);
  }
}

/** COMMIT of an aborted transaction is a silent ROLLBACK, which only its command tag tells. */
async function commitOn(client: Client, target: string): Promise<unknown[]> {
  const { command } = await client.query('COMMIT').catch((error: Error) => {
    throw new QueryFailedError('COMMIT', [], error);
  });
  if (command !== 'ROLLBACK') return [];
  throw new ShardingError(
    'transaction_aborted',
    `a statement failed inside the transaction on ${described(target)} and its error was swallowed: nothing was committed. Let the error pass, or run the statement in a nested tx()`,
  );
}

/** A cancelled statement is told as what cancelled it: the caller's limit, or the close of the database. */
function refused(database: Database, error: unknown, reason?: ShardingError): unknown {
  if (failureCode(error) !== '57014') return statementError(database.target, error);
  return reason ?? database.closedError ?? statementError(database.target, error);
}

/** A reset that is not answered soon is given up with its connection. */
const RESET_LIMIT_MS = 2000;

async function reset(runner: PostgresRunner): Promise<void> {
  const late = setTimeout(
    () => void runner.releasePostgresConnection(new Error('reset too slow')),
    RESET_LIMIT_MS,
  );
  try {
    const client = await runner.connect();
    await client.query('discard all');
    await runner.releasePostgresConnection();
  } catch (error) {
    await runner.releasePostgresConnection(error instanceof Error ? error : new Error('reset failed'));
  } finally {
    clearTimeout(late);
  }
}
