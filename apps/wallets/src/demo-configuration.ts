import { fileURLToPath } from 'node:url';
import { stringify } from 'smol-toml';

/** The databases of the demo, in the order in which they start. */
export const DEMO_DATABASES = ['control', 'eu-0', 'eu-1', 'mx-0'] as const;
export type DemoDatabase = (typeof DEMO_DATABASES)[number];

/** The `sharding.toml` of the demo: the service runs on it, and shardctl can be pointed at it. */
export function demoConfiguration(urlOf: (name: DemoDatabase) => string): string {
  const shard = (name: DemoDatabase, group: number, member: number) => ({
    name,
    group,
    member,
    primary_url: urlOf(name),
  });
  return stringify({
    database: {
      primary_url: urlOf('control'),
      pool_size: 5,
      shards: [shard('eu-0', 0, 0), shard('eu-1', 0, 1), shard('mx-0', 1, 0)],
    },
    migrations: {
      shards: [fileURLToPath(new URL('create-wallets.migration.js', import.meta.url))],
    },
  });
}
