import { spawn, type ChildProcess } from 'node:child_process';
import { join, resolve } from 'node:path';
import { compiledSources } from './compiled-sources.js';
import { freePort } from './free-port.js';
import { waitFor } from './wait-for.js';

const ROOT = resolve('.');
const START_TIMEOUT_MS = 20_000;

/** What the process gets through its environment. */
export interface BookmarksDatabases {
  readonly control: string;
  readonly shards: readonly string[];
  /** Further keys of the configuration, `SHARDING_DATABASE__DRAIN_TIMEOUT_MS` say. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** How a process has ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The bookmarks service as a process of its own (`main.ts`). Whoever starts it calls `dispose()`. */
export class BookmarksProcess {
  readonly ended: Promise<ProcessEnd>;
  #output = '';

  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => (this.#output += text.toString()));
    }
    this.ended = new Promise((done) => child.once('close', (code, signal) => done({ code, signal })));
  }

  /** Waits until it listens. */
  static async start(databases: BookmarksDatabases): Promise<BookmarksProcess> {
    const cwd = await compiledSources();
    const port = await freePort();
    const child = spawn(process.execPath, ['apps/bookmarks/src/main.js'], {
      cwd,
      env: environment(port, databases),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const running = new BookmarksProcess(`http://127.0.0.1:${port}`, child);
    await running.#untilListening();
    return running;
  }

  /** What it has written, errors included. */
  get output(): string {
    return this.#output;
  }

  terminate(): void {
    this.child.kill('SIGTERM');
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it if need be; may be called again. */
  async dispose(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  async #untilListening(): Promise<void> {
    const answers = async () => {
      if (this.child.exitCode !== null) return true;
      return (await fetch(`${this.url}/health/live`)).status === 200;
    };
    await waitFor(answers, { what: 'the service to listen', timeoutMs: START_TIMEOUT_MS }).catch(
      async (error: unknown) => {
        this.child.kill('SIGKILL');
        await this.ended;
        throw error;
      },
    );
    if (this.child.exitCode !== null) throw new Error(`the service ended while starting:\n${this.output}`);
  }
}

function environment(port: number, { control, shards, settings }: BookmarksDatabases): NodeJS.ProcessEnv {
  const urls = shards.map((url, index) => [`SHARDING_DATABASE__SHARDS__${index}__PRIMARY_URL`, url]);
  return {
    PATH: process.env['PATH'],
    NO_COLOR: '1',
    PORT: String(port),
    SHARDING_CONFIG: join(ROOT, 'apps/bookmarks/sharding.toml'),
    SHARDING_DATABASE__PRIMARY_URL: control,
    SHARDING_MIGRATIONS__SHARDS: 'apps/bookmarks/src/*.migration.js', // not built as the service is
    ...(Object.fromEntries(urls) as Record<string, string>),
    ...settings,
  };
}
