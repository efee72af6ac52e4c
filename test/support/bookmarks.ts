import { createApp } from '../../apps/bookmarks/src/create-app.js';
import { bookmarksSharding } from '../../apps/bookmarks/src/app.module.js';
import { CreateBookmarks1764460800000 } from '../../apps/bookmarks/src/create-bookmarks.migration.js';
import { CreateTagCounts1764460900000 } from '../../apps/bookmarks/src/create-tag-counts.migration.js';
import { migrate, resolveOptions } from '@app/sharding';
import { listen } from './deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

/** The bookmarks service, listening; whoever boots it closes `app`. */
export interface RunningBookmarks {
  readonly app: INestApplication;
  readonly url: string;
}

/** Options of the demo: control, shard0 with the lower half of the slots, shard1 with the upper one. */
export function bookmarksOptions(
  urls: { readonly control: string; readonly shards: readonly string[] },
  database: ShardingOptions['database'] = {},
): ShardingOptions {
  const slots = ['0-8191', '8192-16383'];
  return {
    ...bookmarksSharding,
    database: {
      primaryUrl: urls.control,
      poolSize: 4,
      shards: urls.shards.map((primaryUrl, index) => ({
        name: `shard${index}`,
        primaryUrl,
        slots: [slots[index] ?? ''],
      })),
      ...database,
    },
    tenancy: { source: 'header' },
    migrations: { shards: [CreateBookmarks1764460800000, CreateTagCounts1764460900000] },
  };
}

/**
 * @param migrated `yes` applies the migrations first
 * @param jobs `on`: with its queue on the control database
 */
export async function bootBookmarks(
  options: ShardingOptions,
  migrated: 'yes' | 'no' = 'yes',
  jobs: 'on' | 'off' = 'off',
): Promise<RunningBookmarks> {
  if (migrated === 'yes') await migrate(resolveOptions(options), () => undefined);
  const app = await createApp(options, { logger: false, abortOnError: false, jobs });
  return { app, url: await listen(app) };
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly ms: number;
}

/** One request; JSON in and out. */
export async function call(
  url: string,
  options: { readonly tenant?: string; readonly method?: string; readonly json?: unknown } = {},
): Promise<Answer> {
  const began = performance.now();
  const response = await fetch(url, {
    method: options.method ?? (options.json === undefined ? 'GET' : 'POST'),
    headers: {
      ...(options.tenant !== undefined && { 'x-tenant-id': options.tenant }),
      ...(options.json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(options.json !== undefined && { body: JSON.stringify(options.json) }),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: response.status, body: await response.json(), ms: performance.now() - began };
}
