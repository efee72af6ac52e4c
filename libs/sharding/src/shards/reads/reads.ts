import { ShardingError } from '@app/routing';
import { described, failureCode, isPoolTimeout, originOf, unavailable } from '../database-failure.js';
import { chain, promised } from '../maybe-promise.js';
import { readTarget, replicaOnlyTarget } from './read-policy.js';
import type { DataSource } from 'typeorm';
import type { Database } from '../database.js';
import type { ReplicaFallback } from '../../shard.options.js';
import type { MaybePromise } from '../maybe-promise.js';
import type { Causality } from './causality.js';
import type { ReadTarget } from './read-policy.js';
import type { Replica, ReplicaStatus } from './replica.js';

/** Which databases a read may use: by the policy of the place, or the replica alone. */
export type ReadMode = 'policy' | 'replica_only';

/** One read on one database. */
type ReadWork<T> = (source: DataSource, database: Database) => Promise<T>;

interface ReadsParts {
  readonly primary: Database;
  readonly replica?: Replica | undefined;
  readonly causality?: Causality | undefined;
}

/** The reads of one place: which of its databases serves one now. */
export class Reads {
  readonly primary: Database;
  readonly replica: Replica | undefined;
  readonly causality: Causality | undefined;

  constructor({ primary, replica, causality }: ReadsParts) {
    this.primary = primary;
    this.replica = replica;
    this.causality = causality;
  }

  /** Undefined where no replica is configured. */
  replicaStatus(): ReplicaStatus | undefined {
    return this.replica?.status();
  }

  /** Whether readers get an answer as far as the replica is concerned. */
  get available(): boolean {
    return this.target('policy') !== 'unavailable';
  }

  /** @throws ShardingError `replica_unavailable` when a read could not be served now */
  assertAvailable(mode: ReadMode): void {
    if (this.target(mode) === 'unavailable') throw this.unavailable(mode);
  }

  /**
   * Runs `work` on the database that serves the read. A replica that turns out to be gone is left out from then on, and
   * where the policy allows it `work` runs once more, on the primary: it must only read.
   *
   * @throws ShardingError `replica_unavailable`, `shard_unavailable`
   */
  run<T>(mode: ReadMode, work: ReadWork<T>): Promise<T> {
    return promised(() => chain(this.choose(mode), (database) => this.runOn(database, mode, work)));
  }

  private runOn<T>(database: Database, mode: ReadMode, work: ReadWork<T>): Promise<T> {
    const reading = readOn(database, work);
    return database === this.primary
      ? reading
      : reading.catch((error: unknown) => this.elsewhere(error, mode, work));
  }

  /** Where a read goes that the replica did not serve. */
  private elsewhere<T>(error: unknown, mode: ReadMode, work: ReadWork<T>): Promise<T> {
    const { replica } = this;
    const lost = replica && replicaFailure(error, replica.database.label);
    if (!lost) throw error;
    if (lost === 'gone') replica.suspect(error);
    if (lost === 'session') replica.onSuspicion();
    if (mode === 'policy' && this.fallback === 'primary') return readOn(this.primary, work);
    if (error instanceof ShardingError) throw error;
    const why = `gave the read up, to follow its primary (${failureCode(error)})`;
    throw unavailable(replica.database.label, why, error);
  }

  /** At once where nobody has to be asked. */
  private choose(mode: ReadMode): MaybePromise<Database> {
    const { replica, causality } = this;
    const target = this.target(mode);
    if (target === 'unavailable') throw this.unavailable(mode);
    if (target === 'primary' || !replica) return this.primary;
    const allowed = causality?.allows(replica) ?? true;
    if (allowed === true) return replica.database;
    const told = Promise.resolve(allowed).catch(() => false); // a position that nobody tells
    return told.then((covers) => {
      if (covers) return replica.database;
      if (mode === 'policy') return this.primary;
      throw unavailable(
        replica.database.label,
        'is not known to have replayed what this context has written',
      );
    });
  }

  private target(mode: ReadMode): ReadTarget {
    const { replica } = this;
    const readiness = replica ? (replica.ready ? 'ready' : 'unready') : 'none';
    if (mode === 'replica_only') return replicaOnlyTarget(readiness);
    return readTarget(readiness, this.fallback);
  }

  private get fallback(): ReplicaFallback {
    return this.replica?.settings.fallback ?? 'primary';
  }

  private unavailable(mode: ReadMode): ShardingError {
    const { replica } = this;
    if (!replica) {
      const what = described(this.primary.label);
      return new ShardingError(
        'replica_unavailable',
        `${what} has no replica: set replica_url, or use readFor()`,
      );
    }
    const why = `is not ready (${replica.status().detail})`;
    const hint = mode === 'policy' ? ', and replica_fallback = "fail_readiness" allows no other' : '';
    return unavailable(replica.database.label, why + hint);
  }
}

function readOn<T>(database: Database, work: ReadWork<T>): Promise<T> {
  const { opened } = database;
  return opened ? work(opened, database) : database.open().then((source) => work(source, database));
}

/**
 * Whether this replica, not the statement or another database, is to blame: it is gone, one session of it ended, it is
 * busy, or its recovery needed what the read used. A session that waited too long in its transaction is the caller's own.
 */
function replicaFailure(error: unknown, label: string): 'gone' | 'session' | 'busy' | 'conflict' | undefined {
  if (originOf(error) !== label) return undefined;
  if (!(error instanceof ShardingError)) {
    return RECOVERY_CONFLICTS.has(failureCode(error) ?? '') ? 'conflict' : undefined;
  }
  if (error.code !== 'replica_unavailable') return undefined;
  const code = failureCode(error.cause) ?? '';
  if (IDLE_TOO_LONG.has(code)) return undefined;
  if (code === SESSION_ENDED) return 'session';
  return isPoolTimeout(error.cause) ? 'busy' : 'gone';
}

const SESSION_ENDED = '57P01';
const IDLE_TOO_LONG = new Set(['25P03', '25P04']);

/** On a replica serialization failures and deadlocks are conflicts with recovery, and nothing else. */
const RECOVERY_CONFLICTS = new Set(['40001', '40P01']);
