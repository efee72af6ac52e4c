import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { PostgresServer } from '../support/postgres-server.js';
import { LINKS_SQL, SHARDS } from './request/link.entity.js';
import { compare, printTable, ratio, writeResults, type Side, type SideResult } from './support/bench.js';
import type { ChildProcess } from 'node:child_process';
import type { Variant } from './request/apps.js';

/**
 * Requests per second of the same query through four kinds of service, each in a process of its own, and through two
 * that show what AsyncLocalStorage alone costs on this version of Node.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 21);
const SECONDS = 2;
const CONNECTIONS = 16;
const SERVER = fileURLToPath(new URL('./request/server.js', import.meta.url));
const TENANTS = Array.from({ length: 200 }, (_none, index) => `tenant-${index}`);

const children: ChildProcess[] = [];

async function side(variant: Variant, urls: readonly string[]): Promise<Side> {
  const child = fork(SERVER, [variant, ...urls], { stdio: 'inherit' });
  children.push(child);
  const [port] = (await once(child, 'message')) as [number];
  return { name: variant, run: () => requestsPerSecond(`http://127.0.0.1:${port}/links`) };
}

async function requestsPerSecond(url: string): Promise<number> {
  const requests = TENANTS.map((tenant) => ({ headers: { 'x-tenant-id': tenant } }));
  const result = await autocannon({ url, connections: CONNECTIONS, duration: SECONDS, requests });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} bad answers, ${result.errors} errors`);
  return result.requests.total / result.duration;
}

const server = await PostgresServer.start({ name: 'bench' });
try {
  const urls: string[] = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    urls.push(await server.createDatabase(`shard${shard}`));
    await server.query(LINKS_SQL, [], `shard${shard}`);
  }
  const variants: Variant[] = [
    'plain',
    'request-scoped',
    'ShardedDb',
    'Shards',
    'Shards with metrics',
    'plain in ALS',
    'request-scoped in ALS',
  ];
  const sides: Side[] = [];
  for (const variant of variants) sides.push(await side(variant, urls));
  const results = await compare(sides, { rounds: ROUNDS, warmup: 2 });
  printTable(results, { title: 'requests', unit: 'req/s' });
  const [plain, byHand, shardedDb, shards, measured, plainAls, byHandAls] = results as [
    SideResult,
    SideResult,
    SideResult,
    SideResult,
    SideResult,
    SideResult,
    SideResult,
  ];
  writeResults('request', {
    sharded_db_ratio: ratio(shardedDb, byHand),
    shards_ratio: ratio(shards, plain),
    sharded_db_ratio_in_als: ratio(shardedDb, byHandAls),
    shards_ratio_in_als: ratio(shards, plainAls),
    metrics_ratio: ratio(measured, shards),
    als_cost: 1 - ratio(plainAls, plain),
    request_scope_cost: 1 - ratio(byHand, plain),
  });
} finally {
  for (const child of children) child.disconnect();
  await server.dispose();
}
