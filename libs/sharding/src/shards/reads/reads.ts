import { ShardingError } from '@app/routing';
import { described, failureCode, isPoolTimeout, unavailable } from '../database-failure.js';
import { readTarget, replicaOnlyTarget } from './read-policy.js';
import type { DataSource } from 'typeorm';
import type { Database } from '../database.js';
import type { ReplicaFallback } from '../../sharding.options.js';
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
  async run<T>(mode: ReadMode, work: ReadWork<T>): Promise<T> {
    const database = await this.choose(mode);
    if (database === this.primary) return readOn(database, work);
    try {
      return await readOn(database, work);
    } catch (error) {
      const lost = replicaFailure(error);
      if (!lost) throw error;
      if (lost === 'gone') this.replica?.suspect(error);
      if (mode === 'policy' && this.fallback === 'primary') return readOn(this.primary, work);
      throw error instanceof ShardingError
        ? error
        : unavailable(
            database.label,
            `gave the read up, to follow its primary (${failureCode(error)})`,
            error,
          );
    }
  }

  private async choose(mode: ReadMode): Promise<Database> {
    const { replica, causality } = this;
    const target = this.target(mode);
    if (target === 'unavailable') throw this.unavailable(mode);
    if (target === 'primary' || !replica) return this.primary;
    if (!causality || (await this.covers(causality, replica))) return replica.database;
    if (mode === 'policy') return this.primary;
    throw unavailable(replica.database.label, 'has not replayed what this context has written');
  }

  private async covers(causality: Causality, replica: Replica): Promise<boolean> {
    try {
      return await causality.allows(replica);
    } catch (error) {
      throw unavailable(this.primary.label, 'could not tell its position', error);
    }
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

/** @throws what `work` throws; a COMMIT without an answer leaves nothing unknown where nothing was written */
async function readOn<T>(database: Database, work: ReadWork<T>): Promise<T> {
  try {
    return await work(database.opened ?? (await database.open()), database);
  } catch (error) {
    if (!(error instanceof ShardingError) || error.code !== 'commit_unknown') throw error;
    throw error.cause instanceof ShardingError
      ? error.cause
      : unavailable(database.label, 'lost the connection', error.cause);
  }
}

/** Whether the replica, not the statement, is to blame: it is gone or busy, or its recovery needed what the read used. */
function replicaFailure(error: unknown): 'gone' | 'busy' | 'conflict' | undefined {
  if (!(error instanceof ShardingError)) {
    return RECOVERY_CONFLICTS.has(failureCode(error) ?? '') ? 'conflict' : undefined;
  }
  if (error.code !== 'replica_unavailable') return undefined;
  return isPoolTimeout(error.cause) ? 'busy' : 'gone';
}

/** On a replica serialization failures and deadlocks are conflicts with recovery, and nothing else. */
const RECOVERY_CONFLICTS = new Set(['40001', '40P01']);
