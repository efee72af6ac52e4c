import { rowsOf } from './rows-of.js';
import { connectedRunner } from './shard-runner.js';
import { transact } from './transact.js';
import { levelOf } from './transaction.js';
import { within } from './work-scope.js';
import type { Database } from './database.js';
import type { PostgresRunner } from './shard-runner.js';

/** Runs one statement and gives its rows, also those of `returning`; none for several statements in one text. */
export type RunStatement = <Row = Record<string, unknown>>(
  sql: string,
  parameters?: readonly unknown[],
) => Promise<Row[]>;

/** How long a statement that runs at the end may go on. */
const CLOSE_LIMIT_MS = 1000;

/**
 * A small pool of its own on the control database, with the limits, the TLS and the login of all others: for a part of
 * the program that is always busy, so that routing never waits for it, nor it for routing. The library closes it, at
 * the latest at the shutdown.
 */
export class ControlPool {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Connections at most. */
  get size(): number {
    return this.#database.poolSize;
  }

  /**
   * @param limitMs bound of the statement, the wait for a connection included
   * @throws ShardingError `shard_unavailable`, `deadline_exceeded`; `cross_shard_transaction` inside of a transaction,
   *   which it would not be part of
   */
  async query<Row = Record<string, unknown>>(
    limitMs: number,
    sql: string,
    parameters?: readonly unknown[],
  ): Promise<Row[]> {
    levelOf(this, this.#database.label, undefined);
    return within('the statement on the control database', { deadlineMs: limitMs }, async () => {
      const runner = await this.#open();
      try {
        return await rowsOf<Row>(runner, sql, parameters);
      } finally {
        await runner.release();
      }
    });
  }

  /** Runs `work` in one transaction. @throws ShardingError as `db.tx` */
  async tx<T>(limitMs: number, work: (run: RunStatement) => Promise<T>): Promise<T> {
    levelOf(this, this.#database.label, undefined);
    const place = { shard: this, database: this.#database, open: () => this.#open() };
    return transact(place, { timeoutMs: limitMs }, ({ runner }) =>
      work((sql, parameters) => rowsOf(runner, sql, parameters)),
    );
  }

  /** Ends its connections. The library does it too, at the shutdown; twice is fine. */
  close(): Promise<void> {
    return this.#database.close(CLOSE_LIMIT_MS);
  }

  async #open(): Promise<PostgresRunner> {
    return connectedRunner(await this.#database.open());
  }
}
