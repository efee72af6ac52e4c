import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Moves, Pins, Shards, type MoveRequest } from '@app/sharding';
import { AppModule } from './app.module.js';
import type { INestApplicationContext } from '@nestjs/common';

/**
 * Moves a tenant to another shard by the library's API, while the service runs:
 *
 *     node dist/apps/bookmarks/apps/bookmarks/src/move-tenant.js acme shard0 shard1
 *
 * The same call again goes on wherever an earlier one has ended: by an interrupt, a crash or a lost connection.
 */
const [tenant, from, to] = process.argv.slice(2);
if (tenant === undefined || from === undefined || to === undefined) {
  console.error('usage: move-tenant TENANT FROM TO');
  process.exit(2);
}

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());
const { signal } = interrupted;

try {
  // Without HTTP: the configuration, the databases and the directory are those of the service.
  const app = await NestFactory.createApplicationContext(AppModule.register(), {
    logger: ['warn', 'error'],
    abortOnError: false,
  });
  try {
    await move(app, tenant, { from, to, keys: [tenant], writes: 'fenced', by: 'move-tenant' });
  } finally {
    await app.close();
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

async function move(app: INestApplicationContext, key: string, request: MoveRequest): Promise<void> {
  const moves = app.get(Moves);
  const home = await app.get(Shards).shardFor(key);
  if (home.name !== request.to) {
    // 1. Copies while the tenant goes on writing, then refuses its writes (409, to be tried again) and compares both sides.
    const { id } = await moves.move(request, { signal, note: console.error });
    console.log(`copied to ${request.to} and verified by move ${id}`);

    // 2. Routes it before the fence lifts itself, after half a minute. Every process knows within milliseconds.
    await app.get(Pins).pin(key, request.to, { by: request.by, note: `move ${id}` });
    console.log(`pinned to ${request.to}`);
  }

  // 3. Deletes the rows that it has left, once every living process routes it anew.
  const { state } = await moves.confirm(request, { signal });
  console.log(`${state} at ${request.from}`);
}
