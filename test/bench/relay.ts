import { measureIdle } from './actions/relay-idle.js';
import { measureRelay } from './actions/relay-rate.js';
import { median, printTable, writeResults } from './support/bench.js';

/** What a relay delivers to a handler that does nothing, how late, and what relays cost while nothing happens. */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);

const { eventsPerS, p50Ms, p99Ms } = await measureRelay(ROUNDS);
printTable([{ name: 'one relay, no-op handler', samples: eventsPerS }], {
  title: 'events',
  unit: 'events/s',
});
console.log(`from commit to handler: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);
const idle = await measureIdle();
console.log(`16 idle relays: ${idle.toFixed(2)} % of a core`);
writeResults('relay', {
  relay_events_per_s: median(eventsPerS),
  relay_p50_ms: p50Ms,
  relay_p99_ms: p99Ms,
  idle_cpu_pct: idle,
});
