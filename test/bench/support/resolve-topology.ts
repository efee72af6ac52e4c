import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createTopology, type Topology } from '@app/routing';

/** How long a topology of 16,384 one-slot shards took to resolve, and what it cost at the most. */
export interface ResolveMeasure {
  readonly milliseconds: number;
  /** MB by which the process grew (resident set) at its peak, garbage included. */
  readonly megabytes: number;
}

/**
 * Resolves the largest topology with explicit slots once. Part of `bench:boot` (`resolve_ms`, `resolve_mb`). Measure it
 * first: a process that has been larger before makes the memory look worse than it is.
 */
export function measureResolve(): ResolveMeasure {
  const shards = Array.from({ length: 16_384 }, (_, slot) => ({ name: `shard${slot}`, slots: [slot] }));
  collectGarbage();
  const before = process.memoryUsage.rss();
  const start = performance.now();
  const topology = createTopology(shards);
  const milliseconds = performance.now() - start;
  const megabytes = (process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20;
  checkComplete(topology);
  return { milliseconds, megabytes };
}

function checkComplete(topology: Topology): void {
  const last = topology.shardOfSlot(16_383).name;
  if (last !== 'shard16383') throw new Error(`slot 16383 belongs to ${last}`);
}

/** Makes the starting point the same each time, without asking for a command-line flag. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
