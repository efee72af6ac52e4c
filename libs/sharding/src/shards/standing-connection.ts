import { AsyncResource } from 'node:async_hooks';
import pLimit from 'p-limit';
import { isConnectionFailure, isServerError } from './database-failure.js';
import { dedicatedConnection } from './dedicated-connection.js';
import type pg from 'pg';
import type { DedicatedConnection } from './dedicated-connection.js';

/** How to get a new connection. */
export interface StandingOptions {
  readonly config: () => Promise<pg.ClientConfig>;
  /** Not sent where the pooler in between takes no parameters. */
  readonly applicationName?: string;
}

/**
 * One connection outside the pool that stays open between its statements. It connects when a statement needs it; one
 * that is lost, or late, ends the connection, and the next statement begins anew. Between statements it does not keep the
 * process alive: where the boot fails in somebody else's module, nobody may be there to close it.
 */
export class StandingConnection {
  readonly #options: StandingOptions;
  readonly #turns = pLimit(1);
  readonly #outside = new AsyncResource('nestjs-sharding.standing');
  #open: DedicatedConnection | undefined;
  #closed = false;
  /** Called when a connection has ended, for whatever reason. */
  onEnd: () => void = () => undefined;
  /** Called for each notification that this connection listens for. */
  onNotification: () => void = () => undefined;

  constructor(options: StandingOptions) {
    this.#options = options;
  }

  /**
   * The rows of one statement; statements run one after the other.
   *
   * @param limitMs bound of the statement, connecting included, from when its turn comes
   * @throws the driver's error, `timeout expired`, or `connection closed` after {@link close}
   */
  query<Row extends pg.QueryResultRow>(sql: string | pg.QueryConfig, limitMs: number): Promise<Row[]> {
    return this.#outside.runInAsyncScope(() => this.#turns(() => this.#run<Row>(sql, limitMs)));
  }

  /** Ends the connection: the next statement proves that a new one can be made. */
  drop(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.destroy();
    if (open) this.onEnd();
  }

  close(): void {
    this.#closed = true;
    this.drop();
  }

  async #run<Row extends pg.QueryResultRow>(sql: string | pg.QueryConfig, limitMs: number): Promise<Row[]> {
    if (this.#closed) throw new Error('connection closed');
    const ends = performance.now() + limitMs;
    try {
      const connection = this.#open ?? (await this.#connect(limitMs));
      const left = Math.max(1, ends - performance.now());
      connection.ref();
      return (await connection.within(left, connection.client.query<Row>(sql))).rows;
    } catch (error) {
      if (!isServerError(error) || isConnectionFailure(error)) this.drop(); // a wrong statement harms no connection
      throw error;
    } finally {
      this.#open?.unref();
    }
  }

  async #connect(limitMs: number): Promise<DedicatedConnection> {
    const { config, applicationName } = this.#options;
    const connection = dedicatedConnection(await config(), applicationName);
    if (this.#closed) throw new Error('connection closed'); // meanwhile
    this.#open = connection;
    connection.client.on('notification', () => {
      if (this.#open === connection) this.onNotification();
    });
    connection.client.once('end', () => {
      if (this.#open === connection) this.drop();
    });
    await connection.within(limitMs, connection.client.connect());
    if (this.#open === connection) return connection;
    connection.destroy(); // dropped or closed meanwhile
    throw new Error('connection closed');
  }
}
