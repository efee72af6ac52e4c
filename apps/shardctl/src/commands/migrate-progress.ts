import { createRequire } from 'node:module';
import { printable } from '../output/printable.js';
import type { MigrationProgress } from '@app/sharding/operator';
import type * as CliProgress from 'cli-progress';

/** What a migrator tells while it runs. Whoever shows it calls `end()`. */
export interface ShownProgress {
  readonly log: (line: string) => void;
  readonly progress: (progress: MigrationProgress) => void;
  end(): void;
}

/** Lines; on a terminal a bar below them. */
export function showProgress(stream: NodeJS.WriteStream): ShownProgress {
  const log = (line: string) => void stream.write(`${printable(line)}\n`);
  if (!stream.isTTY) return { log, progress: () => undefined, end: () => undefined };
  const { MultiBar } = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
  const bars = new MultiBar({
    stream,
    format: '[{bar}] {value}/{total} targets, {duration_formatted}',
    barCompleteChar: '=',
    barIncompleteChar: ' ',
    clearOnComplete: true,
    hideCursor: true,
  });
  let bar: CliProgress.SingleBar | undefined;
  return {
    log: (line) => bars.log(`${printable(line)}\n`),
    progress: ({ finished, total }) => {
      bar ??= bars.create(total, 0);
      bar.update(finished);
    },
    end: () => bars.stop(),
  };
}
