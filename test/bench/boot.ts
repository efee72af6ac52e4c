import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.js';
import { compare, median, printTable, writeResults } from './support/bench.js';
import { measureResolve } from './support/resolve-topology.js';

/** How long it takes to resolve the largest topology, and to boot with 100 shards while no server runs. */

const ROUNDS = 9;
const resolved = measureResolve(); // first: the memory figure uses the peak of the process
const CHILD = fileURLToPath(new URL('./boot/hundred-shards.js', import.meta.url));
const port = await freePort();
let whole = 0;

async function boot(): Promise<number> {
  const began = performance.now();
  const child = fork(CHILD, [String(port)], { stdio: 'inherit' });
  const [milliseconds] = (await once(child, 'message')) as [number];
  whole = performance.now() - began;
  await once(child, 'exit');
  return milliseconds;
}

const wholes: number[] = [];
const results = await compare(
  [
    {
      name: 'create and listen',
      run: async () => {
        const milliseconds = await boot();
        wholes.push(whole);
        return milliseconds;
      },
    },
  ],
  { rounds: ROUNDS },
);
printTable([...results, { name: 'the whole process', samples: wholes.slice(1) }], {
  title: '100 shards',
  unit: 'ms',
});
writeResults('boot', {
  resolve_ms: resolved.milliseconds,
  resolve_mb: resolved.megabytes,
  listen_ms: median(results[0]?.samples ?? []),
  process_ms: median(wholes.slice(1)),
});
