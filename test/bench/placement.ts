import 'reflect-metadata';
import { PostgresServer } from '../support/postgres-server.js';
import { controlOf } from './placement/control.js';
import { compareIds } from './placement/ids.js';
import { measureRepins } from './placement/repins.js';
import { compareRoutes, countControlQueries, measureSnapshot } from './placement/routes.js';
import { compareUnsharded } from './placement/unsharded.js';
import { printTable, ratio, writeResults, type SideResult } from './support/bench.js';

/**
 * What a directory costs a route, and when a new pin is known everywhere; ids that route themselves; the price of the library
 * where nothing is sharded.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 21);
const PINS = Number(process.env['BENCH_PINS'] ?? 100_000);
const REPINS = Number(process.env['BENCH_REPINS'] ?? 200);
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? 100_000);

const server = await PostgresServer.start({ name: 'bench' });
try {
  const control = await controlOf(server, PINS);
  const snapshot = await measureSnapshot(control);
  console.log('snapshot', snapshot);
  const routes = await compareRoutes(control, ROUNDS);
  printTable(routes, { title: `routes, ${PINS} pins`, unit: 'routes/s' });
  const [hash, unpinned, pinned] = routes as [SideResult, SideResult, SideResult];
  const asked = await countControlQueries(control, REQUESTS);
  console.log('control', asked);
  const repins = await measureRepins(control, REPINS);
  console.log('re-pins', repins);
  const ids = await compareIds(ROUNDS);
  printTable(ids, { title: 'ids', unit: 'ids/s' });
  const [foreign, sharded, slot] = ids as [SideResult, SideResult, SideResult];
  const unsharded = await compareUnsharded(server, ROUNDS);
  printTable(unsharded, { title: 'one database', unit: 'reads/s' });
  const [plain, ours] = unsharded as [SideResult, SideResult];
  writeResults('placement', {
    directory_vs_hash: ratio(hash, unpinned),
    pinned_vs_hash: ratio(hash, pinned),
    routes_per_s: Math.min(
      ...[unpinned, pinned].map(({ samples }) => samples.toSorted((a, b) => a - b)[samples.length >> 1] ?? 0),
    ),
    control_queries: asked.queries,
    requests: asked.requests,
    repin_p99_ms: repins.p99,
    repin_p50_ms: repins.p50,
    snapshot_load_ms: snapshot.loadMs,
    snapshot_heap_mb: snapshot.heapMb,
    id_ratio: ratio(sharded, foreign),
    slot_id_ratio: ratio(slot, foreign),
    unsharded_ratio: ratio(ours, plain),
  });
} finally {
  await server.dispose();
}
