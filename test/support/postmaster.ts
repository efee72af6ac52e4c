import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVER_ENVIRONMENT, dataOf, readPostmasterFile } from './data-directory.js';
import { janitor } from './janitor.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { areGone, childrenOf, isAlive, signalProcess } from './processes.js';
import { waitFor } from './wait-for.js';

/** Crash recovery of a small server takes well under a second; this is for a machine that is busy. */
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const KILL_TIMEOUT_MS = 5_000;

/** A server process did not come up; the message ends with the last lines of its log. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** What the operating system grants a server. */
export interface ProcessLimits {
  /** No file grows beyond this, as on a full disk. The server's log is a file too. */
  readonly maxFileBytes?: number;
}

/** The main process of a server, started in a process group of its own: Ctrl-C reaches us, not the server. */
export class Postmaster {
  readonly pid: number;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, pid: number) {
    this.#process = child;
    this.pid = pid;
  }

  /** Starts the server of `directory` and waits until it accepts connections (read-only ones on a replica). */
  static async launch(
    binaries: PostgresBinaries,
    directory: string,
    limits: ProcessLimits = {},
  ): Promise<Postmaster> {
    const child = spawnServer(binaries, directory, limits);
    await Promise.race([
      once(child, 'spawn'),
      once(child, 'error').then(([error]) => Promise.reject(error as Error)),
    ]);
    if (child.pid === undefined) throw new StartError('the server process has no pid');
    janitor.keep(directory, child.pid);
    const postmaster = new Postmaster(child, child.pid);
    try {
      await waitFor(() => postmaster.#acceptsOrExited(directory), {
        what: 'the server to accept connections',
        timeoutMs: START_TIMEOUT_MS,
        everyMs: 10,
      });
    } catch (error) {
      await postmaster.kill();
      throw error;
    }
    if (postmaster.isRunning) return postmaster;
    throw new StartError(`the server ended while starting:\n${await logTail(directory)}`);
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Backends and auxiliary processes. */
  children(): number[] {
    return childrenOf(this.pid);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) signalProcess(this.pid, signal);
  }

  /** Asks the server to stop, first in the given way, then immediately, then by SIGKILL. */
  async stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const children = this.children();
    for (const pid of [this.pid, ...children]) signalProcess(pid, 'SIGCONT');
    this.signal(signal);
    if (await this.#ends(STOP_TIMEOUT_MS)) return;
    this.signal('SIGQUIT');
    if (await this.#ends(KILL_TIMEOUT_MS)) return;
    await this.kill();
  }

  /** SIGKILL to the postmaster alone; its children leave by themselves when they notice, the slow ones are killed. */
  async kill(): Promise<void> {
    const children = this.children();
    this.signal('SIGKILL');
    await this.#ends(KILL_TIMEOUT_MS);
    for (const pid of children) signalProcess(pid, 'SIGCONT');
    if (await areGone(children, KILL_TIMEOUT_MS)) return;
    for (const pid of children.filter(isAlive)) signalProcess(pid, 'SIGKILL');
    await areGone(children, KILL_TIMEOUT_MS);
  }

  async #acceptsOrExited(directory: string): Promise<boolean> {
    if (!this.isRunning) return true;
    const file = await readPostmasterFile(directory);
    return file?.pid === this.pid && (file.status === 'ready' || file.status === 'standby');
  }

  async #ends(timeoutMs: number): Promise<boolean> {
    const check = async () => !this.isRunning;
    return waitFor(check, { what: 'the end of the server', timeoutMs, everyMs: 5 }).catch(() => false);
  }
}

/** The working directory and the `-D` argument say which server a process is. */
function spawnServer(
  { postgres, user }: PostgresBinaries,
  directory: string,
  { maxFileBytes }: ProcessLimits,
): ChildProcess {
  const server = [postgres, '-D', dataOf(directory)];
  const [program = '', ...args] = maxFileBytes === undefined ? server : limited(maxFileBytes, server);
  const log = openSync(join(directory, 'server.log'), 'a', 0o644);
  try {
    const child = spawn(program, args, {
      ...user,
      cwd: directory,
      env: SERVER_ENVIRONMENT,
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** The same command with a limit of the shell (in blocks of 512 bytes), whose process it takes over. */
function limited(maxFileBytes: number, command: readonly string[]): string[] {
  return ['/bin/sh', '-c', `ulimit -f ${Math.ceil(maxFileBytes / 512)} && exec "$@"`, 'sh', ...command];
}

/** The last lines the server wrote to its log. */
export async function logTail(directory: string, lines = 20): Promise<string> {
  const text = await readFile(join(directory, 'server.log'), 'utf8').catch(() => '(no log)');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
