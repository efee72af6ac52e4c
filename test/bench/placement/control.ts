import { migrate, resolveOptions } from '@app/sharding';
import type { ShardingOptions } from '@app/sharding';
import type { PostgresServer } from '../../support/postgres-server.js';

/** A control database with pins, and two shards. */
export interface ControlPlace {
  readonly server: PostgresServer;
  readonly options: ShardingOptions;
  readonly pins: number;
}

export const pinnedKey = (index: number) => `pinned-${index}`;

/** Migrates, and pins `pinned-0` and so on, half of them to each shard. */
export async function controlOf(server: PostgresServer, pins: number): Promise<ControlPlace> {
  const names = ['control', 'shard0', 'shard1'];
  for (const name of names) await server.createDatabase(name);
  const url = (name: string) => server.url(name);
  const options: ShardingOptions = {
    database: {
      primaryUrl: url('control'),
      directoryShardRouter: true,
      directorySnapshotMax: Math.max(pins, 100_000),
      poolSize: 4,
      shards: ['shard0', 'shard1'].map((name) => ({ name, primaryUrl: url(name) })),
    },
  };
  await migrate(resolveOptions(options), () => undefined);
  await server.query(
    `insert into _sharding_directory (routing_key, shard_name)
      select 'pinned-' || n, 'shard' || n % 2 from generate_series(0, $1::int - 1) n`,
    [pins],
    'control',
  );
  await server.query('vacuum analyze _sharding_directory', [], 'control');
  return { server, options, pins };
}
