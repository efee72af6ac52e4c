import { checkoutError, statementError } from './database-failure.js';
import { ShardRunner } from './shard-runner.js';
import { currentScope } from './work-scope.js';
import type { DataSource, QueryRunner } from 'typeorm';
import type { Database } from './database.js';
import type { RunnerDriver } from './shard-runner.js';
import type { Backend } from './work-scope.js';

/** What is used of TypeORM's PostgreSQL driver beyond its public type. */
interface Driver extends RunnerDriver {
  master?: unknown;
  obtainMasterConnection(): Promise<[Backend, (error?: Error) => void]>;
}

/**
 * Adds to one `DataSource` what TypeORM has no option for: it opens at the first checkout, failures say which target
 * failed, statements belong to the caller's time limit, and no session state or open transaction of one request
 * ever reaches the next one.
 */
export function instrument(source: DataSource, database: Database): void {
  const driver = source.driver as unknown as Driver;
  const obtain = driver.obtainMasterConnection.bind(driver);
  driver.obtainMasterConnection = () => checkout(driver, database, obtain);
  driver.createQueryRunner = (mode) => new ShardRunner(driver, mode, database);
  const query = source.query.bind(source);
  source.query = async <T>(sql: string, parameters?: unknown[], runner?: QueryRunner): Promise<T> => {
    const used = runner ?? source.createQueryRunner();
    if (used instanceof ShardRunner) used.touchedBy(sql);
    try {
      return await query<T>(sql, parameters, used);
    } catch (error) {
      throw statementError(database.label, error);
    } finally {
      if (!runner) await used.release();
    }
  };
}

function noteCheckout({ telemetry, place }: Database, client: Obtained[0], since: number): void {
  const obtainedAt = performance.now();
  Object.assign(client, { obtainedAt });
  telemetry.checkout(place, obtainedAt - since);
}

type Obtained = Awaited<ReturnType<Driver['obtainMasterConnection']>>;

/** A connection of the pool, which opens first where it is not open. */
function checkout(driver: Driver, database: Database, obtain: () => Promise<Obtained>): Promise<Obtained> {
  const take = driver.master ? taken(database, obtain) : database.open().then(() => taken(database, obtain));
  return database.telemetry.active ? observed(database, take) : take;
}

/** With as few promises as can be: every statement passes here. */
function taken(database: Database, obtain: () => Promise<Obtained>): Promise<Obtained> {
  const { breaker } = database;
  try {
    breaker.assertClosed();
    currentScope()?.assertOpen();
  } catch (error) {
    return Promise.reject(error as Error);
  }
  return obtain().then(
    (obtained) => {
      database.noteSuccess();
      breaker.used();
      return obtained;
    },
    (error: unknown) => {
      database.noteFailure(error);
      throw checkoutError(database.label, error);
    },
  );
}

async function observed(database: Database, take: Promise<Obtained>): Promise<Obtained> {
  const { telemetry, place } = database;
  const since = performance.now();
  try {
    const obtained = await take;
    noteCheckout(database, obtained[0], since);
    return obtained;
  } catch (error) {
    telemetry.checkout(place, performance.now() - since, error);
    throw error;
  }
}
