import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { compiledSources } from './compiled-sources.js';
import type { ShardingOptions } from '@app/sharding';

/** A process that delivers events to a handler which commits its effect and never ends. Whoever starts it kills it. */
export class RelayProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child;
    this.#lines = lines;
  }

  static async start(options: Pick<ShardingOptions, 'database'>): Promise<RelayProcess> {
    const child = spawn(
      process.execPath,
      [resolve('test/support/relay-child.mjs'), await compiledSources(), JSON.stringify(options)],
      { stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000, killSignal: 'SIGKILL' },
    );
    return new RelayProcess(child, createInterface(child.stdout)[Symbol.asyncIterator]());
  }

  /** The aggregate of the next event whose effect is committed. */
  async committed(): Promise<string | undefined> {
    const { value } = (await this.#lines.next()) as { value: string | undefined };
    return value;
  }

  /** Ends it at once, as an outage would. */
  async kill(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
