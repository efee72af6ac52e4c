import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compiledDirectory, compiledSources } from './compiled-sources.js';

const LIMIT_MS = 25_000;

interface Said {
  out: string;
  err: string;
}

/** What one call of the command line has said. */
export interface ShardctlEnd extends Readonly<Said> {
  readonly code: number | null;
}

export interface ShardctlCall {
  /** Text of `sharding.toml` in the working directory, which is a fresh one. */
  readonly toml?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** An existing working directory instead of a fresh one. */
  readonly cwd?: string;
  /** Runs beside it, with what it has said so far. */
  readonly meanwhile?: (said: Readonly<Said>) => Promise<unknown>;
  /** Interrupts when this has settled. */
  readonly interruptAfter?: () => Promise<unknown>;
  /** How. Default `SIGINT`. */
  readonly signal?: 'SIGINT' | 'SIGTERM';
  /** Closes our end of these at once. */
  readonly deafTo?: readonly ('stdout' | 'stderr')[];
}

/** The command line as a process of its own. */
export class Shardctl {
  private constructor(private readonly directory: string) {}

  /** The one of this run of the tests; it is compiled when it is first used. */
  static attach(): Shardctl {
    return new Shardctl(compiledDirectory());
  }

  /** The file that runs it; it is there once {@link workingDirectory} has been asked for one. */
  get main(): string {
    return join(this.directory, 'apps/shardctl/src/main.js');
  }

  /** A fresh working directory with that configuration. */
  async workingDirectory(toml?: string): Promise<string> {
    const directory = await mkdtemp(join(await compiledSources(), 'work-'));
    if (toml !== undefined) await writeFile(join(directory, 'sharding.toml'), toml);
    return directory;
  }

  /** Runs one command line to its end. */
  async run(args: readonly string[], call: ShardctlCall = {}): Promise<ShardctlEnd> {
    const cwd = call.cwd ?? (await this.workingDirectory(call.toml));
    const child = spawn(process.execPath, [this.main, ...args], {
      cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...call.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    const said: Said = { out: '', err: '' };
    child.stdout.on('data', (text: Buffer) => (said.out += text.toString()));
    child.stderr.on('data', (text: Buffer) => (said.err += text.toString()));
    for (const stream of call.deafTo ?? []) child[stream].destroy();
    const ended = new Promise<number | null>((done) => child.once('close', (code) => done(code)));
    await call.meanwhile?.(said);
    if (call.interruptAfter) {
      await call.interruptAfter();
      child.kill(call.signal ?? 'SIGINT');
    }
    return { code: await ended, ...said };
  }
}
