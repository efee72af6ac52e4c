import { createRequire } from 'node:module';
import { bytesText, countText, estimateOf, type TableProgress } from './move-estimate.js';
import { isWorthTelling } from './move-text.js';
import { oneLine, printable } from './printable.js';
import type { Told } from './told.js';
import type { MovePoint, MoveProgress } from '@app/sharding/operator';
import type * as CliProgress from 'cli-progress';

/** What a mover tells while it runs. Whoever shows it calls `end()`. */
export interface ShownMove {
  readonly note: (line: string) => void;
  readonly progress: (progress: MoveProgress) => void;
  /** The id of the move, once it has one. */
  readonly move: () => string | undefined;
  readonly end: () => void;
}

/** The moments that one wants to know of. */
const SAID: Partial<Record<MovePoint, string>> = {
  planned: 'planned: nothing is in the way',
  'copy-committed': 'the copy equals the source, and is committed',
  'fence-raised': 'writes of these rows are refused; waiting for those that are under way',
  fenced: 'the rows are still',
  verified: 'verified',
  'tombstones-set': 'the source refuses these keys from now on',
  purged: 'purged',
  'copy-removed': 'the copy is gone',
  aborted: 'aborted',
};

const BAR_MS = 100;
const LINE_MS = 10_000;

/** Lines; on a terminal a bar for the table that is copied, below them. */
export function showMove(told: Told, now: () => number = () => performance.now()): ShownMove {
  const bar = told.terminal && new Bar(told.terminal);
  const above = bar && { log: (line: string) => bar.above(printable(line), (text) => told.log(text)) };
  const say = (line: string) => (above ?? told).log(line);
  const tables = new Tables(say, { now, everyMs: bar ? BAR_MS : LINE_MS });
  let move: string | undefined;
  return {
    note: (line) => (above ? above.log(`shardctl: ${oneLine(line)}`) : told.note(line)),
    progress(progress) {
      move = progress.move;
      if (progress.step === 'copy') {
        const at = tables.at(progress);
        if (at === undefined) return;
        if (bar) bar.at(at);
        else if (at.bytes > 0) say(`${at.table}: ${estimateOf(at)}`);
        return;
      }
      bar?.end();
      const said = SAID[progress.step];
      if (said !== undefined) say(`move ${move.slice(0, 8)}: ${said}`);
    },
    move: () => move,
    end: () => bar?.end(),
  };
}

/** Which table is copied since when, said at its begin and its end. */
class Tables {
  #table: string | undefined;
  #began = 0;
  #told = 0;

  constructor(
    private readonly say: (line: string) => void,
    private readonly clock: { readonly now: () => number; readonly everyMs: number },
  ) {}

  /** @returns how far it is, when that is to be shown again */
  at({ table = '', bytes = 0, rows, expected }: MoveProgress): TableProgress | undefined {
    const now = this.clock.now();
    if (table !== this.#table) {
      this.#table = table;
      this.#began = this.#told = now;
      if (isWorthTelling(table))
        this.say(`${table}: copying ${expected ? `about ${countText(expected.rows, 'row')}` : 'rows'}`);
    }
    const progress = { table, bytes, expected, ms: now - this.#began };
    if (rows !== undefined) {
      const copied = `${countText(rows, 'row')}, ${bytesText(bytes)}${speed(rows, progress)}`;
      if (isWorthTelling(table, rows)) this.say(`${table}: copied ${copied}`);
      this.#table = undefined;
      return undefined;
    }
    if (now - this.#told < this.clock.everyMs) return undefined;
    this.#told = now;
    return progress;
  }
}

/** Below it a rate says nothing. */
const RATED_MS = 1000;

function speed(rows: number, { bytes, ms }: TableProgress): string {
  if (ms < RATED_MS) return '';
  const perSecond = (count: number) => Math.round((count * 1000) / ms);
  return ` in ${Math.round(ms / 1000)} s (${countText(perSecond(rows), 'row')}/s, ${bytesText(perSecond(bytes))}/s)`;
}

class Bar {
  readonly #stream: NodeJS.WriteStream;
  #bars: CliProgress.MultiBar | undefined;
  #bar: CliProgress.SingleBar | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  at(progress: TableProgress): void {
    const { table, bytes, expected } = progress;
    const total = Math.max(expected?.bytes ?? 0, bytes, 1);
    this.#bar ??= this.#begin(total);
    this.#bar.setTotal(total);
    this.#bar.update(bytes, { table: printable(table), estimate: estimateOf(progress) });
    this.#bars?.update();
  }

  above(line: string, write: (line: string) => void): void {
    if (!this.#bars) return write(line);
    this.#bars.log(`${line}\n`);
    this.#bars.update();
  }

  end(): void {
    this.#bars?.stop();
    this.#bars = this.#bar = undefined;
  }

  #begin(total: number): CliProgress.SingleBar {
    const { MultiBar } = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
    this.#bars = new MultiBar({
      stream: this.#stream,
      format: '[{bar}] {table}: {estimate}',
      barsize: 20,
      barCompleteChar: '=',
      barIncompleteChar: ' ',
      clearOnComplete: true,
      hideCursor: true,
      gracefulExit: false, // interrupts are not its business
    });
    return this.#bars.create(total, 0, { table: '', estimate: '' });
  }
}
