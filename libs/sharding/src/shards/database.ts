import { AsyncResource } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import pLimit from 'p-limit';
import { ShardingError } from '@app/routing';
import { clientConfig } from '../database-url.js';
import { Secret } from '../secret.js';
import { dataSourceOptions } from './data-source-options.js';
import { checkoutError, described, failureReason, isPoolTimeout } from './database-failure.js';
import { withDedicatedConnection } from './dedicated-connection.js';
import { instrument } from './instrument.js';
import { within } from './work-scope.js';
import type pg from 'pg';
import type { EntityList, PostgresOptions } from '../sharding.options.js';
import type { DatabaseSettings, TypeOrmSettings } from '../sharding.settings.js';

/** Connections of one pool right now. */
export interface PoolStats {
  readonly max: number;
  readonly active: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** A canceller gets this long, connecting included. */
const CANCEL_LIMIT_MS = 1500;

/**
 * One server role of one target: owns its `DataSource`.
 *
 * Opens at first use, once for all callers; a failed open closes what it opened and can be tried again. Closing twice,
 * while opening, or never having opened is fine; use after close is `shard_unavailable`.
 */
export class Database {
  readonly target: string;
  readonly poolSize: number;
  readonly #settings: DatabaseSettings;
  readonly #options: PostgresOptions;
  readonly #create: NonNullable<TypeOrmSettings['createDataSource']>;
  readonly #builtOutside: boolean;
  readonly #cancels = pLimit(1);
  readonly #doomed: number[] = [];
  #nextCancel: Promise<void> | undefined;
  /** Whoever opens first lends the others neither its context nor its time limit. */
  readonly #outside = new AsyncResource('nestjs-sharding.database');
  readonly #logger: Logger;
  #reachable = true;
  #source?: DataSource;
  #building?: Promise<DataSource> | undefined;
  #opening?: Promise<DataSource> | undefined;
  #opened?: DataSource;
  #closing?: Promise<void>;

  constructor(settings: DatabaseSettings, typeorm: TypeOrmSettings, entities: EntityList) {
    this.target = settings.target;
    this.poolSize = settings.poolSize;
    this.#logger = new Logger(settings.target);
    this.#settings = settings;
    this.#options = dataSourceOptions(settings, typeorm, entities);
    this.#builtOutside = typeorm.createDataSource !== undefined;
    this.#create = typeorm.createDataSource ?? ((_target, _role, options) => new DataSource(options));
  }

  /** The `DataSource`, connected or not. Its pool opens the database at the first checkout. */
  build(): Promise<DataSource> {
    return (this.#building ??= this.#outside.runInAsyncScope(() => this.#build()));
  }

  /** The connected `DataSource`, where it is open already. */
  get opened(): DataSource | undefined {
    return this.#closing ? undefined : this.#opened;
  }

  /** The connected `DataSource`. @throws ShardingError `shard_unavailable` */
  async open(): Promise<DataSource> {
    this.assertOpen();
    return (this.#opening ??= this.#outside.runInAsyncScope(() => this.#open()));
  }

  /** @throws ShardingError `shard_unavailable` after {@link close} */
  assertOpen(): void {
    const closed = this.closedError;
    if (closed) throw closed;
  }

  /** Why nothing can be sent any more; undefined before {@link close}. */
  get closedError(): ShardingError | undefined {
    return this.#closing && new ShardingError('shard_unavailable', `${described(this.target)} is closed`);
  }

  /** Zeros before the first use. */
  stats(): PoolStats {
    const pool = this.#source && poolOf(this.#source);
    const idle = pool?.idleCount ?? 0;
    const active = (pool?.totalCount ?? 0) - idle;
    return { max: this.poolSize, active, idle, waiting: pool?.waitingCount ?? 0 };
  }

  /** Runs `work` on a connection outside the pool. */
  async dedicated<T>(purpose: string, limitMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const config = await this.#outside.runInAsyncScope(() =>
      within(`the way to ${described(this.target)}`, { deadlineMs: limitMs }, () => this.#dedicatedConfig()),
    );
    return withDedicatedConnection(
      { config, limitMs, applicationName: `nestjs-sharding ${purpose} ${this.target}` },
      work,
    );
  }

  /** Cancels the running statements of backends. One call at a time: cancels never crowd the server. */
  cancel(pids: readonly number[]): Promise<void> {
    this.#doomed.push(...pids);
    return (this.#nextCancel ??= this.#cancels(() => {
      this.#nextCancel = undefined;
      const together = this.#doomed.splice(0);
      return this.dedicated('cancel', CANCEL_LIMIT_MS, async (client) => {
        await client.query('select pg_cancel_backend(pid) from unnest($1::int[]) as pid', [together]);
      });
    }));
  }

  /** Said once: the outage itself, not each request that it fails. Lack of a free connection is not one. */
  noteFailure(error: unknown): void {
    if (!this.#reachable || isPoolTimeout(error) || this.#closing) return;
    this.#reachable = false;
    this.#logger.warn(`cannot be reached (${failureReason(error)})`);
  }

  noteSuccess(): void {
    if (this.#reachable) return;
    this.#reachable = true;
    this.#logger.log('is reachable again');
  }

  /** Cancels what runs on the server and ends the connections in use: their statements reject. */
  async interrupt(): Promise<void> {
    const source = this.#source;
    if (!source) return;
    const pids = runnersOf(source).map((runner) => runner.databaseConnection.processID);
    if (pids.length > 0) await this.cancel(pids).catch(() => undefined); // a server does not notice a closed socket
    await discardRunners(source, `${described(this.target)} is closed`);
  }

  /** Waits up to `drainTimeoutMs` for running work, then ends every connection. */
  close(drainTimeoutMs: number): Promise<void> {
    return (this.#closing ??= this.#close(drainTimeoutMs));
  }

  /** A `DataSource` that the application builds knows the way better than the configuration (rotating passwords). */
  async #dedicatedConfig(): Promise<pg.ClientConfig> {
    const { maintenanceUrl, url } = this.#settings;
    const ssl = this.#options.ssl as pg.ClientConfig['ssl'];
    if (maintenanceUrl || !this.#builtOutside) {
      return { ...clientConfig(maintenanceUrl ?? url), ...(ssl !== undefined && { ssl }) };
    }
    const built = (await this.build()).options as PostgresOptions;
    if (built.url !== undefined) return clientConfig(new Secret(built.url));
    const { host, port, username: user, password, database } = built;
    return { host, port, user, password, database, ssl: built.ssl } as pg.ClientConfig;
  }

  async #build(): Promise<DataSource> {
    try {
      const source = await this.#create(this.target, 'primary', this.#options);
      instrument(source, this);
      this.#source = source;
      return source;
    } catch (cause) {
      this.#building = undefined;
      throw checkoutError(this.target, cause);
    }
  }

  async #open(): Promise<DataSource> {
    try {
      const limitMs = 2 * this.#settings.connectTimeoutMs;
      const what = `building the DataSource of ${described(this.target)}`;
      const source = await within(what, { deadlineMs: limitMs }, () => this.build()); // may be the application's code
      this.#opened = await initialize(source, limitMs);
      this.noteSuccess();
      return this.#opened;
    } catch (cause) {
      this.#opening = undefined;
      this.noteFailure(cause);
      throw checkoutError(this.target, cause);
    }
  }

  async #close(drainTimeoutMs: number): Promise<void> {
    await this.#opening?.catch(() => undefined);
    const source = this.#source; // one that is built later is never opened
    if (!source?.isInitialized) return;
    await drained(poolOf(source), drainTimeoutMs);
    await this.interrupt();
    await source.destroy();
  }
}

/** What is used of `pg-pool`. */
interface Pool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  end(): Promise<void>;
  on(event: 'release', listener: () => void): void;
  off(event: 'release', listener: () => void): void;
}

function poolOf(source: DataSource): Pool | undefined {
  return (source.driver as unknown as Driver).master;
}

/** What is used of TypeORM's driver. */
interface Driver {
  master?: Pool | undefined;
  readonly connectedQueryRunners: readonly ConnectedRunner[];
}

interface ConnectedRunner {
  readonly databaseConnection: { readonly processID: number };
  releasePostgresConnection(error: Error): Promise<void>;
}

/** The runners that hold a connection now. */
function runnersOf(source: DataSource): ConnectedRunner[] {
  return (source.driver as unknown as Driver).connectedQueryRunners.slice();
}

/** Ends the connections that are still in use: their statements reject. */
async function discardRunners(source: DataSource, reason: string): Promise<void> {
  const { connectedQueryRunners } = source.driver as unknown as Driver;
  for (const runner of connectedQueryRunners.slice())
    await runner.releasePostgresConnection(new Error(reason));
}

/**
 * Connects within `limitMs`, also where the server stops answering half-way. TypeORM leaves the pool open when a step
 * after its creation fails: it is ended, so that a retry starts clean.
 */
async function initialize(source: DataSource, limitMs: number): Promise<DataSource> {
  const late = setTimeout(() => void discardRunners(source, 'opening took too long'), limitMs);
  try {
    return await source.initialize();
  } catch (error) {
    await discardRunners(source, 'opening failed');
    const driver = source.driver as unknown as Driver;
    await driver.master?.end().catch(() => undefined); // already ended by TypeORM's own cleanup
    driver.master = undefined;
    throw error;
  } finally {
    clearTimeout(late);
  }
}

async function drained(pool: Pool | undefined, timeoutMs: number): Promise<void> {
  if (!pool) return;
  const quiet = () => pool.totalCount === pool.idleCount && pool.waitingCount === 0;
  if (quiet()) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      pool.off('release', check);
      resolve();
    };
    const check = () => setImmediate(() => quiet() && done());
    const timer = setTimeout(done, timeoutMs);
    pool.on('release', check);
  });
}
