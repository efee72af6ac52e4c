import { createRequire } from 'node:module';
import { printable } from '../output/printable.js';
import type { Told } from '../output/told.js';
import type { MigrationProgress } from '@app/sharding/operator';
import type * as CliProgress from 'cli-progress';

/** What a migrator tells while it runs. Whoever shows it calls `end()`. */
export interface ShownProgress {
  readonly log: (line: string) => void;
  readonly progress: (progress: MigrationProgress) => void;
  /** Takes the bar away; the next progress brings another one. */
  readonly end: () => void;
}

/** Lines; on a terminal a bar below them. */
export function showProgress(told: Told): ShownProgress {
  const { terminal } = told;
  if (!terminal) return { log: (line) => told.log(line), progress: () => undefined, end: () => undefined };
  let shown: Bar | undefined;
  return {
    log: (line) => (shown ? shown.above(`${printable(line)}\n`) : told.log(line)),
    progress: ({ finished, total }) => (shown ??= new Bar(terminal, total)).at(finished),
    end: () => {
      shown?.end();
      shown = undefined;
    },
  };
}

class Bar {
  readonly #bars: CliProgress.MultiBar;
  readonly #bar: CliProgress.SingleBar;

  constructor(stream: NodeJS.WriteStream, total: number) {
    const { MultiBar } = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
    this.#bars = new MultiBar({
      stream,
      format: '[{bar}] {value}/{total} targets, {duration_formatted}',
      barCompleteChar: '=',
      barIncompleteChar: ' ',
      clearOnComplete: true,
      hideCursor: true,
      gracefulExit: false, // interrupts are not its business
    });
    this.#bar = this.#bars.create(total, 0);
  }

  at(finished: number): void {
    this.#bar.update(finished);
    this.#bars.update();
  }

  above(line: string): void {
    this.#bars.log(line);
    this.#bars.update();
  }

  end(): void {
    this.#bars.stop();
  }
}
