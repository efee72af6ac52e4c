import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { compiledSources } from './compiled-sources.js';
import { waitFor } from './wait-for.js';
import type { Readable } from 'node:stream';
import type { JobsOptions } from '@app/jobs';
import type { ShardingOptions } from '@app/sharding';

/** What the process says of one call. */
export interface JobLine {
  readonly ready?: true;
  /** Id of a job `endless`, which is never finished. */
  readonly endless?: string;
  readonly attempt?: number;
  /** Of the cron `tick`, every second. */
  readonly dueAt?: string;
}

/** A process of its own that runs jobs. Whoever starts it ends it. */
export class JobProcess {
  readonly lines: JobLine[] = [];
  readonly #closed: Promise<unknown>;

  private constructor(private readonly child: ChildProcessByStdio<null, Readable, Readable>) {
    this.#closed = once(child, 'close');
    createInterface(child.stdout).on('line', (line) => this.lines.push(JSON.parse(line) as JobLine));
  }

  /** Waits until it is ready. */
  static async start(sharding: ShardingOptions, jobs: JobsOptions): Promise<JobProcess> {
    const root = await compiledSources();
    const started = new JobProcess(
      spawn(
        process.execPath,
        [resolve('test/support/job-child.mjs'), root, JSON.stringify({ sharding, jobs })],
        { stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000, killSignal: 'SIGKILL' },
      ),
    );
    let errors = '';
    started.child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
    try {
      await started.until(({ ready }) => ready === true, 'a process with jobs');
    } catch (error) {
      await started.kill();
      throw new Error(`the process with jobs did not start: ${errors}`, { cause: error });
    }
    return started;
  }

  /** Waits for a line. */
  until(wanted: (line: JobLine) => boolean, what: string): Promise<JobLine> {
    return waitFor(async () => this.lines.find(wanted), { what, timeoutMs: 40_000 });
  }

  /** Ends it at once, as an outage would. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#closed;
  }

  /** @returns its exit code, null for one that had to be killed */
  async terminate(): Promise<number | null> {
    this.child.kill('SIGTERM');
    await this.#closed;
    return this.child.exitCode;
  }
}
