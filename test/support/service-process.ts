import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { compiledSources } from './compiled-sources.js';
import { waitFor } from './wait-for.js';
import type { Readable, Writable } from 'node:stream';

/** What a process says, a line each. */
export type Said = Readonly<Record<string, unknown>>;

const LIMIT_MS = 300_000;

/** A service in a process of its own, which speaks JSON lines. Whoever starts it ends it. */
export class ServiceProcess {
  readonly lines: Said[] = [];
  readonly #closed: Promise<unknown>;
  #errors = '';

  private constructor(private readonly child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#closed = once(child, 'close');
    createInterface(child.stdout).on('line', (line) => this.lines.push(JSON.parse(line) as Said));
    child.stderr.on(
      'data',
      (text: Buffer) => (this.#errors = `${this.#errors}${text.toString()}`.slice(-4000)),
    );
    child.stdin.on('error', () => undefined); // it may have been killed
  }

  /** Waits until it says that it is ready. @param script of `test/support` */
  static async start(script: string, parameters: object): Promise<ServiceProcess> {
    const root = await compiledSources();
    const args = [resolve('test/support', script), root, JSON.stringify(parameters)];
    const child = spawn(process.execPath, args, { stdio: 'pipe', timeout: LIMIT_MS, killSignal: 'SIGKILL' });
    const started = new ServiceProcess(child);
    try {
      await started.until(({ ready }) => ready === true, `${script} to be ready`);
    } catch (error) {
      await started.kill();
      throw new Error(`${script} did not start: ${started.#errors}`, { cause: error });
    }
    return started;
  }

  /** Waits for a line. */
  until(wanted: (line: Said) => boolean, what: string): Promise<Said> {
    return waitFor(async () => this.lines.find(wanted), { what, timeoutMs: 60_000 });
  }

  /** Sends it a line. */
  tell(line: string): void {
    this.child.stdin.write(`${line}\n`);
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
