import { spawn } from 'node:child_process';
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { compileSources } from './compile-sources.js';
import { createScratchDirectory, removeScratchDirectory } from './scratch-directory.js';

const ROOT = resolve('.');
const MAIN = 'apps/shardctl/src/main.js';
const LIMIT_MS = 25_000;

/** What one call of the command line has said. */
export interface ShardctlEnd {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface ShardctlCall {
  /** Text of `sharding.toml` in the working directory, which is a fresh one. */
  readonly toml?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** An existing working directory instead of a fresh one. */
  readonly cwd?: string;
  /** Interrupts (SIGINT) when this has settled. */
  readonly interruptAfter?: () => Promise<unknown>;
  /** Closes our end of its stdout at once. */
  readonly deaf?: true;
}

/** The command line as a process of its own. Whoever builds it calls `dispose()`. */
export class Shardctl {
  private constructor(private readonly directory: string) {}

  /** Compiles the sources without looking at types, into a directory of its own. */
  static async build(): Promise<Shardctl> {
    const directory = await createScratchDirectory({});
    try {
      await compileSources(['libs/routing/src', 'libs/sharding/src', 'apps/shardctl/src'], directory);
      await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
      const { name } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { name: string };
      await writeFile(
        join(directory, 'package.json'),
        JSON.stringify({ name, version: '9.9.9', type: 'module' }),
      );
      return new Shardctl(directory);
    } catch (error) {
      await removeScratchDirectory(directory);
      throw error;
    }
  }

  /** Where the compiled sources are. */
  get root(): string {
    return this.directory;
  }

  /** A fresh working directory with that configuration. */
  async workingDirectory(toml?: string): Promise<string> {
    const directory = await mkdtemp(join(this.directory, 'work-'));
    if (toml !== undefined) await writeFile(join(directory, 'sharding.toml'), toml);
    return directory;
  }

  /** Runs one command line to its end. */
  async run(args: readonly string[], call: ShardctlCall = {}): Promise<ShardctlEnd> {
    const cwd = call.cwd ?? (await this.workingDirectory(call.toml));
    const child = spawn(process.execPath, [join(this.directory, MAIN), ...args], {
      cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...call.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    const said = { out: '', err: '' };
    child.stdout.on('data', (text: Buffer) => (said.out += text.toString()));
    child.stderr.on('data', (text: Buffer) => (said.err += text.toString()));
    if (call.deaf) child.stdout.destroy();
    const ended = new Promise<number | null>((done) => child.once('close', (code) => done(code)));
    if (call.interruptAfter) {
      await call.interruptAfter();
      child.kill('SIGINT');
    }
    return { code: await ended, ...said };
  }

  async dispose(): Promise<void> {
    await removeScratchDirectory(this.directory);
  }
}
