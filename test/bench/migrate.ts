import { compareMigrations } from './migrate/migrations.js';
import { disposePlace, place } from './migrate/place.js';
import { compareStarts } from './migrate/starts.js';
import { median, printTable, spread, writeResults, type SideResult } from './support/bench.js';

/**
 * `shardctl migrate` over 100 databases of one server, one after the other and eight at once, and again where nothing is to
 * be done; how long `shardctl` takes to start.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const TARGETS = Number(process.env['BENCH_TARGETS'] ?? 100);
const STARTS = Number(process.env['BENCH_STARTS'] ?? 31);
const PARALLEL = 8;

/** The samples of two sides put together round by round. */
function perRound(name: string, [a, b]: readonly SideResult[], put: (a: number, b: number) => number) {
  const samples = (a?.samples ?? []).map((sample, round) => put(sample, b?.samples[round] ?? Number.NaN));
  return { name, samples };
}

const share = (a: number, b: number) => a / b;
const more = (a: number, b: number) => a - b;

const at = await place(TARGETS);
try {
  const starts = await compareStarts(at.cwd, STARTS);
  printTable(starts, { title: 'start', unit: 'ms' });
  const [empty, help, route] = starts as [SideResult, SideResult, SideResult];
  const results = await compareMigrations(at, PARALLEL, ROUNDS);
  const { serial, parallel, serialAgain, parallelAgain, targets, targetsAgain } = results;
  printTable([serial, parallel, serialAgain, parallelAgain, targets, targetsAgain], {
    title: `migrate, ${TARGETS} targets`,
    unit: 's',
    digits: 2,
  });
  const startCosts = [
    perRound('help_start_ms', [help, empty], more),
    perRound('route_start_ms', [route, empty], more),
  ];
  const ratios = [
    perRound('parallel_speedup', [serial, parallel], share),
    perRound('noop_share', [serialAgain, serial], share),
    perRound('noop_share_of_targets', [targetsAgain, targets], share),
    perRound('noop_share_parallel', [parallelAgain, parallel], share),
  ];
  printTable([...ratios, ...startCosts], { title: 'figure', unit: '', digits: 3 });
  const figures = [...ratios, ...startCosts].flatMap(({ name, samples }) => [
    [name, median(samples)],
    [`${name}_spread`, spread(samples)],
  ]);
  writeResults('migrate', {
    cli_start_ms: Math.max(...startCosts.map(({ samples }) => median(samples))),
    ...(Object.fromEntries(figures) as Record<string, number>),
    targets: TARGETS,
  });
} finally {
  await disposePlace(at);
}
