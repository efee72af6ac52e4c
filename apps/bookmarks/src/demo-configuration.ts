import { fileURLToPath } from 'node:url';
import { stringify } from 'smol-toml';

/** Where the databases of the demo are. */
export interface DemoUrls {
  readonly control: string;
  readonly shard0: string;
  readonly shard1: string;
  readonly replica: string;
}

/** The `sharding.toml` of the demo: the service runs on it, and shardctl can be pointed at it. */
export function demoConfiguration({ control, shard0, shard1, replica }: DemoUrls): string {
  return stringify({
    database: {
      primary_url: control,
      pool_size: 5,
      directory_shard_router: true,
      shards: [
        {
          name: 'shard0',
          primary_url: shard0,
          slots: ['0-8191'],
          replica_url: replica,
          replica_fallback: 'primary',
        },
        { name: 'shard1', primary_url: shard1, slots: ['8192-16383'] },
      ],
    },
    tenancy: { source: 'header' },
    migrations: {
      shards: ['create-bookmarks', 'create-tag-counts'].map((name) =>
        fileURLToPath(new URL(`${name}.migration.js`, import.meta.url)),
      ),
    },
  });
}
