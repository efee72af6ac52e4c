import { PostgresServer } from '../support/postgres-server.js';
import { fill, SHARD_COUNTS } from './scatter/data.js';
import { cursorSpeedup, repositoryReads, streamAll, topOf } from './scatter/measure.js';
import { printTable, ratio, writeResults, type SideResult } from './support/bench.js';

/** Reads over many shards against one database that holds the same rows, and what the tenant filter costs. */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 11);

const server = await PostgresServer.start({ name: 'bench', maxConnections: 200 });
try {
  await fill(server);
  const figures: Record<string, number> = {};
  for (const count of SHARD_COUNTS) {
    const { results, ratio: top, heap } = await topOf(server, count, ROUNDS);
    printTable(results, { title: `newest 100 of ${count} x 100,000`, unit: 'finds/s', digits: 1 });
    figures[`top100_ratio_${count}`] = top;
    figures['top100_heap_mb'] = Math.max(figures['top100_heap_mb'] ?? 0, heap);
    console.log(`peak heap ${heap.toFixed(1)} MB\n`);
  }
  const cursor = await cursorSpeedup(server, ROUNDS);
  printTable(cursor.results, { title: 'a page deep down', unit: 'pages/s', digits: 1 });
  figures['cursor_speedup'] = cursor.speedup;
  const repository = await repositoryReads(server, ROUNDS);
  printTable(repository, { title: 'findBy', unit: 'reads/s' });
  const [plain, sharded] = repository as [SideResult, SideResult];
  figures['repository_ratio'] = ratio(sharded, plain);
  const stream = await streamAll(server);
  console.log(
    `streamed ${stream.rows} rows in ${stream.seconds.toFixed(1)} s, peak heap ${stream.heap.toFixed(1)} MB`,
  );
  figures['stream_heap_mb'] = stream.heap;
  writeResults('scatter', figures);
} finally {
  await server.dispose();
}
