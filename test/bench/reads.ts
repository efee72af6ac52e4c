import { measureAborts } from './reads/aborts.js';
import { measureDeadShard } from './reads/dead-shard.js';
import { measureNeighbour } from './reads/neighbour.js';
import { delayReplay, place } from './reads/place.js';
import { compareReads } from './reads/replica-reads.js';
import { measureStaleness } from './reads/staleness.js';
import { printTable, ratio, writeResults, type SideResult } from './support/bench.js';

/**
 * Reads through the library against a bare `DataSource` on the same replica; stale reads with 500 ms of lag; a request to
 * a dead shard; what aborted requests leave behind.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 21);
const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 100_000);
const LAG_MS = 500;

const at = await place();
try {
  const results = await compareReads(at, ROUNDS);
  printTable(results, { title: 'reads of one row', unit: 'reads/s' });
  const [bare, readFor, inContext, bareSql, readForSql] = results as [
    SideResult,
    SideResult,
    SideResult,
    SideResult,
    SideResult,
  ];
  const aborts = await measureAborts(at);
  await delayReplay(at, LAG_MS);
  const request = await measureStaleness(at, 'request', PAIRS);
  const session = await measureStaleness(at, 'session', PAIRS);
  await delayReplay(at, 0);
  console.log('stale reads', { request, session });
  const neighbour = await measureNeighbour(at);
  const dead = await measureDeadShard(at);
  writeResults('reads', {
    replica_read_ratio: ratio(readFor, bare),
    replica_read_ratio_in_context: ratio(inContext, bare),
    replica_sql_ratio: ratio(readForSql, bareSql),
    stale_reads: request.stale + session.stale,
    pairs: request.pairs + session.pairs,
    replica_share_without_writes: Math.min(request.replicaShare, session.replicaShare),
    dead_shard_p99_ms: dead.p99,
    dead_shard_p50_ms: dead.p50,
    neighbour_p99_ratio: neighbour,
    aborted: aborts.aborted,
    leaked: aborts.leaked,
  });
} finally {
  await at.replica.dispose();
  await at.primary.dispose();
}
