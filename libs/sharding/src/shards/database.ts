import { AsyncResource } from 'node:async_hooks';
import { DataSource } from 'typeorm';
import pLimit from 'p-limit';
import { ShardingError } from '@app/routing';
import { Breaker } from './breaker.js';
import { sendCancelRequest } from './cancel-request.js';
import { dataSourceOptions } from './data-source-options.js';
import { labelOf } from './database-label.js';
import { SHORT_CONNECTIONS } from './connection-budget.js';
import { checkoutError, described, unavailable } from './database-failure.js';
import { DatabaseWay } from './database-way.js';
import { withDedicatedConnection } from './dedicated-connection.js';
import { discardRunners, drained, dropIdle, initialize, poolOf, runnersOf } from './driver-pool.js';
import { FirstContact } from './first-contact.js';
import { instrument } from './instrument.js';
import { StandingConnection } from './standing-connection.js';
import { Telemetry } from './telemetry.js';
import { within } from './work-scope.js';
import type pg from 'pg';
import type { Pooler } from '../shard.options.js';
import type { EntityList, PostgresOptions } from '../typeorm.options.js';
import type { DatabaseSettings, TypeOrmSettings } from '../sharding.settings.js';
import type { BreakerState } from './breaker.js';
import type { BackendKey } from './cancel-request.js';
import type { PoolStats } from './driver-pool.js';
import type { CausalMark } from './reads/causal-marks.js';
import type { Place } from './telemetry.js';

export type { PoolStats };

export interface DatabaseParts {
  readonly settings: DatabaseSettings;
  readonly typeorm: TypeOrmSettings;
  readonly entities: EntityList;
  readonly telemetry?: Telemetry;
}

/** A canceller, and the breaker's probe, get this long, connecting included. */
const CANCEL_LIMIT_MS = 1500;
const BREAKER_PROBE_MS = 1000;

/**
 * One server role of one target: owns its `DataSource`.
 *
 * Opens at first use, once for all callers; a failed open closes what it opened and can be tried again. Closing twice,
 * while opening, or never having opened is fine; use after close is `shard_unavailable`.
 */
export class Database {
  /** `control`, `shard:<name>`, or with `:replica` behind it: the name in logs and errors. */
  readonly label: string;
  readonly place: Place;
  readonly pooler: Pooler;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
  /** The configuration alone does not know how it is reached. */
  readonly builtByApplication: boolean;
  /** Whether a connection outside the pool keeps its session: not where a transaction-mode pooler is the only way. */
  readonly keepsSessions: boolean;
  readonly breaker: Breaker;
  readonly telemetry: Telemetry;
  readonly firstContact = new FirstContact();
  /** The mark of the running context, where somebody may ask for it later; set by the fleet. */
  causalMark: (() => CausalMark) | undefined;
  readonly #settings: DatabaseSettings;
  readonly #options: PostgresOptions;
  readonly #create: NonNullable<TypeOrmSettings['createDataSource']>;
  readonly #way: DatabaseWay;
  readonly #standing: StandingConnection[] = [];
  readonly #cancels = pLimit(1);
  readonly #doomed: BackendKey[] = [];
  #nextCancel: Promise<void> | undefined;
  /** Whoever opens first lends the others neither its context nor its time limit. */
  readonly #outside = new AsyncResource('nestjs-sharding.database');
  #source?: DataSource;
  #building?: Promise<DataSource> | undefined;
  #opening?: Promise<DataSource> | undefined;
  #opened?: DataSource;
  #interrupted = false;
  #closing?: Promise<void>;

  constructor({ settings, typeorm, entities, telemetry }: DatabaseParts) {
    const { target, role } = settings;
    this.label = labelOf(settings);
    this.place = Object.freeze({ target, role, shard: target.replace(/^shard:/, '') });
    this.pooler = settings.pooler;
    this.poolSize = settings.poolSize;
    this.statementTimeoutMs = settings.statementTimeoutMs;
    this.idleInTransactionTimeoutMs = settings.idleInTransactionTimeoutMs;
    this.builtByApplication = typeorm.createDataSource !== undefined;
    this.telemetry = telemetry ?? new Telemetry();
    this.breaker = new Breaker({
      label: this.label,
      probe: () => this.#look(),
      active: () => this.stats().active,
      opened: () => this.#source && dropIdle(this.#source),
    });
    this.#settings = settings;
    this.#options = dataSourceOptions(settings, typeorm, entities);
    this.#way = new DatabaseWay({
      label: this.label,
      settings,
      options: this.#options,
      build: typeorm.createDataSource && (() => this.build()),
    });
    this.keepsSessions = settings.pooler === 'none' || this.#way.avoidsPooler;
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
    if (!this.#opened) this.breaker.assertClosed();
    return (this.#opening ??= this.#outside.runInAsyncScope(() => this.#open()));
  }

  /** @throws ShardingError `shard_unavailable` after {@link close} */
  assertOpen(): void {
    const closed = this.closedError;
    if (closed) throw closed;
  }

  /** Why nothing can be sent any more; undefined before {@link close} and {@link interrupt}. */
  get closedError(): ShardingError | undefined {
    return this.#closing || this.#interrupted ? unavailable(this.label, 'is closed') : undefined;
  }

  /** Zeros before the first use. */
  stats(): PoolStats {
    const pool = this.#source && poolOf(this.#source);
    const idle = pool?.idleCount ?? 0;
    const active = (pool?.totalCount ?? 0) - idle;
    return { max: this.poolSize, active, idle, waiting: pool?.waitingCount ?? 0 };
  }

  get breakerState(): BreakerState {
    return this.breaker.state;
  }

  /** The most connections outside the pool that exist at once. */
  get dedicatedConnections(): number {
    return SHORT_CONNECTIONS + this.#standing.length;
  }

  /** Runs `work` on a connection outside the pool. */
  async dedicated<T>(purpose: string, limitMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const { connectTimeoutMs: connectionTimeoutMillis } = this.#settings;
    const config = { ...(await this.#way.direct(limitMs)), connectionTimeoutMillis };
    return withDedicatedConnection(
      { config, limitMs, applicationName: this.#way.applicationName(purpose) },
      work,
    );
  }

  /** The same by the way of the pool: what is answered here, the pool is answered too. */
  async asPool<T>(purpose: string, limitMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const config = await this.#way.ofPool(limitMs);
    const applicationName = this.#way.poolApplicationName(purpose);
    return withDedicatedConnection({ config, limitMs, applicationName }, work);
  }

  /**
   * The same for a question whether the database can be used: where `maintenance_url` leads around a pooler, the pooler
   * has to take a login too. A busy one does, without a server.
   */
  async probe<T>(purpose: string, limitMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const [answer] = await Promise.all([
      this.dedicated(purpose, limitMs, work),
      this.#way.avoidsPooler && this.asPool('login', limitMs, async () => undefined),
      this.firstContact.pass(limitMs),
    ]);
    return answer;
  }

  /** A connection outside the pool that stays open; closed with the database. */
  standing(purpose: string, connectLimitMs = BREAKER_PROBE_MS): StandingConnection {
    const applicationName = this.#way.applicationName(purpose);
    const config = () => this.#way.direct(connectLimitMs);
    const connection = new StandingConnection({ config, ...(applicationName && { applicationName }) });
    this.#standing.push(connection);
    return connection;
  }

  /** Cancels the running statements of sessions. One call at a time: cancels never crowd the server. */
  cancel(sessions: readonly BackendKey[]): Promise<void> {
    this.#doomed.push(...sessions);
    return (this.#nextCancel ??= this.#cancels(() => {
      this.#nextCancel = undefined;
      return this.#cancel(this.#doomed.splice(0));
    }));
  }

  /** Said once: the outage itself, not each request that it fails. */
  noteFailure(error: unknown): void {
    const refused = error instanceof ShardingError && error.code === 'migrations_pending'; // it is there
    if (!this.#closing && !refused) this.breaker.failed(error);
  }

  noteSuccess(): void {
    this.breaker.succeeded();
  }

  /** A probe on a connection of its own was answered. */
  noteProbe(): void {
    this.breaker.proved();
  }

  /** The server has answered a statement; gives the answer on. */
  readonly noteAnswer = <T>(answer: T): T => {
    this.breaker.answered();
    return answer;
  };

  /** Cancels what runs on the server and ends the connections in use: their statements reject. */
  async interrupt(): Promise<void> {
    this.#interrupted = true;
    const sessions = this.#source ? runnersOf(this.#source).map((runner) => runner.databaseConnection) : [];
    if (sessions.length > 0) await this.cancel(sessions).catch(() => undefined); // a server does not notice a closed socket
    await this.discard('is closed');
  }

  /** Ends the connections in use without asking the server. */
  async discard(reason: string): Promise<void> {
    if (this.#source) await discardRunners(this.#source, `${described(this.label)} ${reason}`);
  }

  /** Waits up to `drainTimeoutMs` for running work, then ends every connection. */
  close(drainTimeoutMs: number): Promise<void> {
    return (this.#closing ??= this.#close(drainTimeoutMs));
  }

  /** By session where the server itself is reached; a pooler knows who works for whom only by the protocol. */
  async #cancel(sessions: readonly BackendKey[]): Promise<void> {
    if (this.pooler === 'none') {
      await this.dedicated('cancel', CANCEL_LIMIT_MS, async (client) => {
        const pids = sessions.map(({ processID }) => processID);
        await client.query('select pg_cancel_backend(pid) from unnest($1::int[]) as pid', [pids]);
      });
      return;
    }
    const config = await this.#way.ofPool(CANCEL_LIMIT_MS);
    for (const session of sessions) await sendCancelRequest(config, session, CANCEL_LIMIT_MS);
  }

  /** Whether the pool could connect. A pooler without a free server is no failure: with a way around it, a login will do. */
  async #look(): Promise<void> {
    const login = this.#way.avoidsPooler;
    await this.asPool('breaker', BREAKER_PROBE_MS, async (client) => !login && client.query('select 1'));
  }

  async #build(): Promise<DataSource> {
    try {
      const source = await this.#create(this.#settings.target, this.#settings.role, this.#options);
      instrument(source, this);
      this.#source = source;
      return source;
    } catch (cause) {
      this.#building = undefined;
      throw checkoutError(this.label, cause);
    }
  }

  async #open(): Promise<DataSource> {
    try {
      const limitMs = 2 * this.#settings.connectTimeoutMs;
      await this.firstContact.pass(limitMs);
      const what = `building the DataSource of ${described(this.label)}`;
      const source = await within(what, { deadlineMs: limitMs }, () => this.build()); // may be the application's code
      this.#opened = await initialize(source, limitMs);
      this.noteSuccess();
      return this.#opened;
    } catch (cause) {
      this.#opening = undefined;
      this.noteFailure(cause);
      throw checkoutError(this.label, cause);
    }
  }

  async #close(drainTimeoutMs: number): Promise<void> {
    this.breaker.close();
    await this.#opening?.catch(() => undefined);
    const source = this.#source; // one that is built later is never opened
    if (source?.isInitialized) await drained(poolOf(source), drainTimeoutMs);
    for (const connection of this.#standing) connection.close();
    if (!source?.isInitialized) return;
    await this.interrupt();
    await source.destroy();
  }
}
