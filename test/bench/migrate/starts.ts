import { compare, type SideResult } from '../support/bench.js';
import { runNode, runShardctl } from './run-process.js';

/** How long an empty program takes, a help page, and a route that asks no database. Milliseconds, in this order. */
export function compareStarts(cwd: string, rounds: number): Promise<SideResult[]> {
  const route = async () => {
    const { milliseconds, out } = await runShardctl(['route', 'acme'], cwd);
    if (!/acme +\d+ +0 +shard\d+/.test(out)) throw new Error(`a route without a shard: ${out}`);
    return milliseconds;
  };
  return compare(
    [
      { name: 'node -e 0', run: async () => (await runNode(['-e', '0'], cwd)).milliseconds },
      { name: 'shardctl --help', run: async () => (await runShardctl(['--help'], cwd)).milliseconds },
      { name: 'shardctl route acme', run: route },
    ],
    { rounds, warmup: 2 },
  );
}
