import type { DataSource } from 'typeorm';
import type { Shard } from '../shards/shard.js';
import type { ShardingSettings } from '../sharding.settings.js';

/** The databases of a deployment, lent. */
export interface LentShards {
  /** @throws ShardingError `unknown_shard` */
  readonly named: (name: string) => Shard;
  /** In declaration order. */
  readonly all: readonly Shard[];
  readonly control: DataSource | undefined;
}

/** Lends the shards and the control database to `work` and closes what was opened. Nothing is routed, or logged. */
export async function withShards<T>(
  settings: ShardingSettings,
  work: (shards: LentShards) => Promise<T>,
): Promise<T> {
  const { lendFleet } = await import('./lend-fleet.js');
  return lendFleet(settings, ({ shards, control }) => {
    const byName = new Map(shards.map((shard) => [shard.name, shard]));
    const named = (name: string) => byName.get(name) ?? byName.get(settings.topology.byName(name).name);
    return work({ all: shards, control: control?.dataSource, named: (name) => found(named(name)) });
  });
}

/** The topology has thrown otherwise. */
function found(shard: Shard | undefined): Shard {
  if (!shard) throw new Error('a shard of the topology has a database');
  return shard;
}
