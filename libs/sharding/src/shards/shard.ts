import { chain } from './maybe-promise.js';
import { Reader } from './reads/reader.js';
import { ShardDb } from './shard-db.js';
import type { ShardIdentifier, TopologyShard } from '@app/routing';
import type { Database, PoolStats } from './database.js';
import type { ReadMode, Reads } from './reads/reads.js';
import type { ReplicaStatus } from './reads/replica.js';
import type { MaybePromise } from './maybe-promise.js';

/** {@link ShardDb} or a subclass with the same constructor. */
export type ShardDbType<D extends ShardDb> = new (...parts: ConstructorParameters<typeof ShardDb>) => D;

/** One shard: its place in the topology, its primary, and perhaps a replica. */
export class Shard {
  readonly name: string;
  readonly group: number;
  /** (group, member); absent in a group of more than 64 shards that give no member. */
  readonly identifier: ShardIdentifier | undefined;
  /** How many slots it owns; 0 is drained. */
  readonly slots: number;

  constructor(
    place: TopologyShard,
    readonly reads: Reads,
  ) {
    this.name = place.name;
    this.group = place.group;
    this.identifier = place.identifier;
    this.slots = place.slotCount;
  }

  /** The primary's database. */
  get database(): Database {
    return this.reads.primary;
  }

  /** Reads by the policy of this shard, or from its replica alone. */
  reader(mode: ReadMode = 'policy'): Reader {
    return new Reader({ owner: this, reads: this.reads, mode });
  }

  /** The primary as {@link ShardDb}; opens it at first use. @throws ShardingError `shard_unavailable` */
  async primary(): Promise<ShardDb> {
    return this.primaryAs(ShardDb);
  }

  /** The same as a subclass of {@link ShardDb}; at once where the primary is open. */
  primaryAs<D extends ShardDb>(type: ShardDbType<D>): MaybePromise<D> {
    return chain(this.database.opened ?? this.database.open(), (source) => new type(this, source));
  }

  /** Connections of the primary's pool right now. */
  stats(): PoolStats {
    return this.database.stats();
  }

  /** Undefined without a replica. */
  replicaStatus(): ReplicaStatus | undefined {
    return this.reads.replicaStatus();
  }
}
