import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { compiledSources } from './compiled-sources.js';
import type { Readable, Writable } from 'node:stream';
import type { ShardingOptions } from '@app/sharding';
import type { MoveRequest } from '@app/sharding/operator';

export interface MoverCommand {
  readonly options: ShardingOptions;
  readonly verb: 'move' | 'confirm';
  readonly request: MoveRequest;
}

/** A mover that waits, with everything loaded, until it is told to begin. Whoever starts it lets it end, or kills it. */
export class MoverProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    this.#closed = once(child, 'close');
  }

  /** Gives a mover that is ready. */
  static async start(command: MoverCommand): Promise<MoverProcess> {
    const root = await compiledSources();
    const child = spawn(
      process.execPath,
      [resolve('test/support/mover-child.mjs'), root, JSON.stringify(command)],
      { stdio: ['pipe', 'pipe', 'ignore'], timeout: 60_000, killSignal: 'SIGKILL' },
    );
    const mover = new MoverProcess(child);
    const { value } = await mover.#lines.next();
    if (value !== 'ready') throw new Error('the mover did not start');
    return mover;
  }

  /** Lets it begin. */
  begin(): void {
    this.#child.stdin.write('go\n');
  }

  /** Ends it at once, as an outage would. @returns the state that it has reported before; undefined: it was killed in time */
  async kill(): Promise<string | undefined> {
    this.#child.kill('SIGKILL');
    await this.#closed;
    const { value } = (await this.#lines.next()) as { value: string | undefined };
    return value;
  }

  /** Waits for its end. @returns the state that it reports */
  async end(): Promise<string | undefined> {
    const { value } = (await this.#lines.next()) as { value: string | undefined };
    await this.#closed;
    return value;
  }
}
