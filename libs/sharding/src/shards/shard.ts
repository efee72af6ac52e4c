import { Database } from './database.js';
import { ShardDb } from './shard-db.js';
import type { TopologyShard } from '@app/routing';
import type { PoolStats } from './database.js';

/** One shard: its place in the topology and its primary database. */
export class Shard {
  readonly name: string;
  readonly group: number;
  /** How many slots it owns; 0 is drained. */
  readonly slots: number;

  constructor(
    place: TopologyShard,
    readonly database: Database,
  ) {
    this.name = place.name;
    this.group = place.group;
    this.slots = place.slotCount;
  }

  /** The primary as {@link ShardDb}; opens it at first use. @throws ShardingError `shard_unavailable` */
  primary(): Promise<ShardDb> {
    return this.primaryAs(ShardDb);
  }

  /** The same as a subclass of {@link ShardDb}. */
  async primaryAs<D extends ShardDb>(
    type: new (...parts: ConstructorParameters<typeof ShardDb>) => D,
  ): Promise<D> {
    return new type(this, await this.database.open());
  }

  /** Connections of the primary's pool right now. */
  stats(): PoolStats {
    return this.database.stats();
  }
}
