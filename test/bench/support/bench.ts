import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One of the things compared. */
export interface Side {
  readonly name: string;
  /** Does one round and answers with its measure: a rate (per second) or a duration, the same for all sides. */
  run(): number | Promise<number>;
}

/** What all rounds of one side measured, in the order they ran. */
export interface SideResult {
  readonly name: string;
  readonly samples: readonly number[];
}

/** How many rounds count, and how many run before them uncounted. */
export interface CompareOptions {
  readonly rounds: number;
  readonly warmup?: number;
}

/**
 * Measures the sides in turn, round by round (A B, then B A, and so on), so that a slow moment of the machine hits all of
 * them alike. Answers in the order of the sides.
 */
export async function compare(
  sides: readonly Side[],
  { rounds, warmup = 1 }: CompareOptions,
): Promise<SideResult[]> {
  const samples = sides.map((): number[] => []);
  for (let round = -warmup; round < rounds; round++) {
    const order = [...sides.entries()];
    if (round % 2 !== 0) order.reverse();
    for (const [index, side] of order) {
      const measure = await side.run();
      if (round >= 0) samples[index]?.push(measure);
    }
  }
  return sides.map(({ name }, index) => ({ name, samples: samples[index] ?? [] }));
}

/** The middle value; of an even number of values the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Half of the distance between the quartiles, relative to the median: 0.02 = the middle half lies within about 2 %. */
export function spread(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const quartiles = median(sorted.slice(sorted.length - half)) - median(sorted.slice(0, half));
  return sorted.length < 2 ? 0 : quartiles / 2 / median(sorted);
}

/** The median of one side's measure divided by the other's, round by round. */
export function ratio(of: SideResult, to: SideResult): number {
  return median(of.samples.map((sample, round) => sample / (to.samples[round] ?? Number.NaN)));
}

/** How {@link printTable} writes a measure. */
export interface TableOptions {
  readonly title: string;
  readonly unit: string;
  readonly digits?: number;
}

/** Prints one line per side: median, spread, smallest and largest sample. */
export function printTable(results: readonly SideResult[], { title, unit, digits = 0 }: TableOptions): void {
  const show = (value: number) =>
    value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const rows = results.map(({ name, samples }) => [
    name,
    show(median(samples)),
    `±${(spread(samples) * 100).toFixed(1)} %`,
    show(Math.min(...samples)),
    show(Math.max(...samples)),
  ]);
  const table = [[title, `median ${unit}`, 'spread', 'min', 'max'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table) {
    console.log(
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  '),
    );
  }
  console.log();
}

/** The repository, seen from the compiled file below `dist/bench/test/bench/support`. */
const RESULTS = fileURLToPath(new URL('../../../../../test/bench/results/', import.meta.url));

/** Writes `test/bench/results/NAME.json`: `{ bench, date, node, figures }`, figures rounded to four digits. */
export function writeResults(bench: string, figures: Readonly<Record<string, number>>): void {
  const rounded = Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]),
  );
  const report = { bench, date: new Date().toISOString(), node: process.version, figures: rounded };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `${bench}.json`), `${JSON.stringify(report, null, 2)}\n`);
  console.log(JSON.stringify(report.figures));
}
