import { ShardingError } from '@app/routing';
import { failureCode, failureReason, isConnectionFailure } from '../database-failure.js';
import { parseLsn } from './lsn.js';
import { compareSides, PARITY_LIMIT_MS, PrimarySilent } from './parity.js';
import { ReplicaLag } from './replica-lag.js';
import { ReplayWatch } from './replay-watch.js';
import { WalPosition } from './wal-position.js';
import type { Database } from '../database.js';
import type { StandingConnection } from '../standing-connection.js';
import type { ReplicaSettings } from '../../sharding.settings.js';
import type { Lsn } from './lsn.js';
import type { MigrationsTable } from './parity.js';

/** Bound of each question of a probe. */
const PROBE_LIMIT_MS = 700;
/** After so many failed probes in a row the reads that still wait are given up, to be served elsewhere. */
const PROBES_TO_GIVE_UP = 2;
/** A ready replica is compared with its primary this often. */
const PARITY_EVERY_MS = 60_000;

/** What health and metrics tell of a replica. */
export interface ReplicaStatus {
  readonly ready: boolean;
  /** Why it is not ready; `streaming` when it is. No host, no user. */
  readonly detail: string;
  /** Undefined until it was seen. */
  readonly lagMs: number | undefined;
}

interface ReplicaParts {
  readonly database: Database;
  readonly primary: Database;
  readonly settings: ReplicaSettings;
  readonly migrationsTable: MigrationsTable;
}

interface ReplicaRow {
  readonly recovering: boolean;
  readonly lsn: string | null;
  readonly age: number | null;
}

/** The server answers, but it follows nobody. */
class NotAReplica extends Error {}

const UNSEEN = 'replica has not passed a readiness check';

/** The replica of one primary: its pool, and whether reads may use it. */
export class Replica {
  readonly database: Database;
  readonly settings: ReplicaSettings;
  /** The primary's position; also a sample for the lag. */
  readonly wal: WalPosition;
  /** Called when a failure of a read asks for a probe at once. */
  onSuspicion: () => void = () => undefined;
  readonly #lag = new ReplicaLag();
  readonly #watch: ReplayWatch;
  readonly #connection: StandingConnection;
  readonly #primary: StandingConnection;
  readonly #table: MigrationsTable;
  #connectionReady = false;
  #migrationsReady = true;
  #detail = UNSEEN;
  #comparedAt: number | undefined;
  #failedProbes = 0;
  #everSame = false;

  constructor({ database, primary, settings, migrationsTable }: ReplicaParts) {
    this.database = database;
    this.settings = settings;
    this.#table = migrationsTable;
    this.#connection = database.standing('replica-monitor');
    this.#primary = primary.standing('replica-monitor');
    this.#connection.onEnd = () => this.#lag.forgetReplayed();
    this.wal = new WalPosition(this.#primary, (lsn) => this.#lag.primaryAt(lsn, performance.now()));
    this.#watch = new ReplayWatch(() => this.#askReplayed());
  }

  get ready(): boolean {
    return this.#connectionReady && this.#migrationsReady && !this.#tooFarBehind();
  }

  status(): ReplicaStatus {
    const lagMs = this.#lag.lagMs;
    const { ready } = this;
    if (ready) return { ready, detail: 'streaming', lagMs };
    const late = this.#connectionReady && this.#migrationsReady;
    return {
      ready,
      detail: late ? `lags more than ${this.settings.maxLagMs} ms` : this.#detail,
      lagMs,
    };
  }

  /** Whether the replica is known to have replayed `lsn`; asks nobody. */
  hasReplayed(lsn: Lsn): boolean {
    return (this.#lag.replayed ?? -1n) >= lsn;
  }

  /** Whether the replica has replayed `lsn`, waiting up to `waitMs` unless it is known to lag more. */
  async reaches(lsn: Lsn, waitMs: number): Promise<boolean> {
    if (this.hasReplayed(lsn)) return true;
    if (waitMs <= 0 || (this.#lag.lagMs ?? 0) > waitMs) return false;
    return this.#watch.reached(lsn, waitMs);
  }

  /** A read failed as if the replica were gone: no reads until a probe has seen it, on a new connection. */
  suspect(error: unknown): void {
    this.#notReady(failureReason(error instanceof ShardingError ? error.cause : error));
    this.#connection.drop();
    this.onSuspicion();
  }

  /** One step of the probe loop. Never rejects. */
  async probe(): Promise<void> {
    await this.wal.sample(PROBE_LIMIT_MS).catch(() => undefined); // without it the lag is what it was
    try {
      const replayed = await this.#askReplayed();
      if (this.#parityIsDue()) await this.#compare();
      if (this.#migrationsReady) await this.#assertBehind(replayed);
      this.#connectionReady = true;
      this.#failedProbes = 0;
      this.database.noteProbe();
    } catch (error) {
      if (error instanceof NotAReplica) return this.#notReady(error.message);
      this.database.noteFailure(error);
      if (++this.#failedProbes === PROBES_TO_GIVE_UP) void this.database.discard('stopped answering');
      this.#notReady(failureReason(error));
    }
  }

  /** A replica that is ahead of its primary follows another history: of before a restore, or a failover. */
  async #assertBehind(replayed: Lsn): Promise<void> {
    const sampled = this.#lag.newestSample;
    if (sampled === undefined || replayed <= sampled) return;
    const now = await this.wal.current().catch(() => undefined); // a primary that is down has no position
    if (now !== undefined && replayed > now) {
      throw new NotAReplica('is ahead of its primary: it follows another history');
    }
  }

  #notReady(reason: string): void {
    this.#connectionReady = false;
    this.#detail = reason;
  }

  #tooFarBehind(): boolean {
    const { maxLagMs } = this.settings;
    return maxLagMs > 0 && (this.#lag.lagMs ?? Infinity) > maxLagMs;
  }

  async #askReplayed(): Promise<Lsn> {
    const [row] = await this.#connection.query<ReplicaRow>(
      `select pg_is_in_recovery() as recovering, pg_last_wal_replay_lsn()::text as lsn,
        extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 * 1000 as age`,
      PROBE_LIMIT_MS,
    );
    const lsn = parseLsn(row?.lsn);
    if (!row?.recovering || lsn === undefined) {
      throw new NotAReplica('is not a replica any more: it is not in recovery');
    }
    this.#lag.replayedTo(lsn, performance.now(), row.age ?? undefined);
    return lsn;
  }

  #parityIsDue(): boolean {
    const since = this.#comparedAt === undefined ? Infinity : performance.now() - this.#comparedAt;
    return !this.ready || since >= PARITY_EVERY_MS;
  }

  /**
   * Fails closed: what cannot be compared in time is not ready. Only a primary that is certainly down, and so cannot
   * have new migrations, leaves an earlier verdict as it is.
   */
  async #compare(): Promise<void> {
    this.#comparedAt = performance.now();
    try {
      const parity = await compareSides(this.#primary, this.#connection, this.#table);
      this.#migrationsReady = parity.same;
      this.#everSame ||= parity.same;
      if (!parity.same) this.#detail = parity.reason;
    } catch (error) {
      if (this.#everSame && error instanceof PrimarySilent && isDown(error.cause)) return;
      this.#migrationsReady = false;
      this.#detail = `could not be compared with its primary within ${PARITY_LIMIT_MS} ms (${failureReason(error)})`;
    }
  }
}

/** Certainly, as opposed to slow or silent. */
function isDown(error: unknown): boolean {
  return isConnectionFailure(error) && failureCode(error) !== undefined;
}
