import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { SERVER_ENVIRONMENT } from './data-directory.js';
import { freePort } from './free-port.js';
import { janitor } from './janitor.js';
import { createScratchDirectory, removeScratchDirectory } from './scratch-directory.js';
import { serverUser, type ServerUser } from './server-user.js';
import { atPort, type PoolerOptions, type TestPooler } from './transaction-pooler.js';
import { waitFor } from './wait-for.js';

const PLACES = ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 5000;

/** The program, where it is installed. */
const PROGRAM = PLACES.map((place) => join(place, 'pgbouncer')).find((path) => existsSync(path));

/** The real PgBouncer in transaction mode, as a process of its own. Starter calls `dispose()`. */
export class PgBouncer implements TestPooler {
  readonly #directory: string;
  readonly #child: ChildProcess;

  private constructor(
    readonly port: number,
    at: { readonly directory: string; readonly child: ChildProcess },
  ) {
    this.#directory = at.directory;
    this.#child = at.child;
  }

  /** Whether it is installed on this machine; known when the file is loaded. */
  static get isInstalled(): boolean {
    return PROGRAM !== undefined;
  }

  static async start(options: PoolerOptions): Promise<PgBouncer> {
    const user = await serverUser();
    const directory = await createScratchDirectory(user);
    const port = await freePort();
    await configure(directory, user, configuration(options, port));
    const child = launch(directory, user);
    const pooler = new PgBouncer(port, { directory, child });
    try {
      await once(child, 'spawn');
      if (child.pid !== undefined) janitor.keep(directory, child.pid);
      await waitFor(() => pooler.#accepts(), { what: 'pgbouncer to accept', timeoutMs: START_TIMEOUT_MS });
    } catch (error) {
      await pooler.dispose();
      throw error;
    }
    return pooler;
  }

  url(databaseUrl: string): string {
    return atPort(databaseUrl, this.port);
  }

  /** PgBouncer logs them at its most verbose level. */
  async startupParameters(): Promise<string[]> {
    const log = await readFile(join(this.#directory, 'pgbouncer.log'), 'utf8');
    const names = [...log.matchAll(/got var: (\w+)=/g)].map(([, name = '']) => name);
    return [...new Set(names)].filter((name) => name !== 'user' && name !== 'database');
  }

  async dispose(): Promise<void> {
    if (isRunning(this.#child)) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(late);
    }
    await removeScratchDirectory(this.#directory);
  }

  async #accepts(): Promise<boolean> {
    if (!isRunning(this.#child)) {
      throw new Error(await readFile(join(this.#directory, 'pgbouncer.log'), 'utf8'));
    }
    const socket = createConnection(this.port, '127.0.0.1');
    await once(socket, 'connect').finally(() => socket.destroy());
    return true;
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function configuration({ serverUrl, servers = 3, waitMs = 120_000 }: PoolerOptions, port: number): string {
  const { port: serverPort, username, password } = new URL(serverUrl);
  return `[databases]
* = host=127.0.0.1 port=${serverPort} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${servers}
min_pool_size = ${servers}
server_round_robin = 1
server_login_retry = 1
query_wait_timeout = ${waitMs / 1000}
`;
}

/** Below `data`, where the janitor looks for what a process of ours was started with. */
async function configure(directory: string, user: ServerUser, text: string): Promise<void> {
  const data = join(directory, 'data');
  await mkdir(data);
  await writeFile(join(data, 'pgbouncer.ini'), text);
  if (user.uid === undefined) return;
  for (const path of [data, join(data, 'pgbouncer.ini')]) await chown(path, user.uid, user.gid);
}

function launch(directory: string, user: ServerUser): ChildProcess {
  if (PROGRAM === undefined) throw new Error('pgbouncer is not installed');
  const log = openSync(join(directory, 'pgbouncer.log'), 'a', 0o644);
  try {
    const child = spawn(PROGRAM, ['-v', '-v', join(directory, 'data', 'pgbouncer.ini')], {
      ...user,
      cwd: directory,
      env: SERVER_ENVIRONMENT,
      detached: true,
      stdio: ['ignore', 'ignore', log],
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}
