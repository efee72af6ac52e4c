import { setTimeout as pause } from 'node:timers/promises';
import { runOnce, type Row } from './admin-query.js';
import {
  DEFAULT_SETTINGS,
  PASSWORD,
  SUPERUSER,
  createDataDirectory,
  removeDataDirectory,
  writeSettings,
  type Settings,
} from './data-directory.js';
import { createDatabase, dropDatabase } from './databases.js';
import { freePort } from './free-port.js';
import { postgresBinaries } from './postgres-binaries.js';
import { HeldConnections } from './held-connections.js';
import { Postmaster, StartError, logTail, type ProcessLimits } from './postmaster.js';
import { signalProcess } from './processes.js';
import * as control from './server-control.js';
import { SmallDisk } from './small-disk.js';
import { copyDataDirectory, untilStreaming } from './streaming-replica.js';

const PORT_ATTEMPTS = 5;
const RESTART_TIMEOUT_MS = 20_000;
const RESTART_PAUSE_MS = 100;

export interface ServerOptions extends ProcessLimits {
  readonly maxConnections?: number;
  /** Configuration parameters, also those that need a restart. */
  readonly settings?: Settings;
  /** Shown in error messages; a replica's name is also its `application_name` on the primary. */
  readonly name?: string;
}

/** One PostgreSQL server process with its own data directory. Whoever starts it calls `dispose()`. */
export class PostgresServer {
  readonly #directory: string;
  readonly #limits: ProcessLimits;
  #postmaster: Postmaster | undefined;

  private constructor(
    readonly name: string,
    readonly port: number,
    at: { readonly directory: string; readonly postmaster: Postmaster; readonly limits: ProcessLimits },
  ) {
    this.#directory = at.directory;
    this.#postmaster = at.postmaster;
    this.#limits = at.limits;
  }

  /** A new, empty server. */
  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const directory = await createDataDirectory(await postgresBinaries());
    return PostgresServer.#startIn(directory, options, { ...DEFAULT_SETTINGS, max_connections: '100' });
  }

  static async #startIn(directory: string, options: ServerOptions, basis: Settings): Promise<PostgresServer> {
    const { maxConnections, settings, name = 'postgres' } = options;
    const limit = maxConnections === undefined ? {} : { max_connections: String(maxConnections) };
    try {
      await writeSettings(directory, { ...basis, ...limit, ...settings });
      const { port, postmaster } = await launchOnFreePort(directory, options);
      return new PostgresServer(name, port, { directory, postmaster, limits: options });
    } catch (error) {
      await removeDataDirectory(directory);
      throw error;
    }
  }

  /** The postmaster's process id. */
  get pid(): number {
    return this.#running().pid;
  }

  /** False after `stop` and `kill`, and when the server has ended by itself. */
  get isRunning(): boolean {
    return this.#postmaster?.isRunning ?? false;
  }

  url(database = 'postgres', user = SUPERUSER): string {
    return `postgres://${encodeURIComponent(user)}:${PASSWORD}@127.0.0.1:${this.port}/${encodeURIComponent(database)}`;
  }

  /** Creates a database and returns its URL. */
  async createDatabase(name: string, template?: string): Promise<string> {
    await createDatabase(this.url(), name, template);
    return this.url(name);
  }

  async dropDatabase(name: string): Promise<void> {
    await dropDatabase(this.url(), name);
  }

  /** Runs one statement as the superuser on a connection of its own. */
  async query(sql: string, params: readonly unknown[] = [], database?: string): Promise<Row[]> {
    return runOnce(this.url(database), sql, params);
  }

  /** The last lines of the server's log. */
  async log(lines?: number): Promise<string> {
    return logTail(this.#directory, lines);
  }

  /** Ends all sessions and stops: `fast` in order, `immediate` as after a crash. A stopped server is fine. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const postmaster = this.#postmaster;
    this.#postmaster = undefined;
    await postmaster?.stop(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  }

  /** SIGKILL to the postmaster; returns when its children have left too. */
  async kill(): Promise<void> {
    const postmaster = this.#running();
    this.#postmaster = undefined;
    await postmaster.kill();
  }

  /** Starts again on the same port and data; a running server is stopped before. */
  async restart(): Promise<void> {
    await this.stop();
    const deadline = performance.now() + RESTART_TIMEOUT_MS;
    for (;;) {
      try {
        this.#postmaster = await Postmaster.launch(await postgresBinaries(), this.#directory, this.#limits);
        return;
      } catch (error) {
        if (!(error instanceof StartError) || performance.now() > deadline) throw error;
        await pause(RESTART_PAUSE_MS);
      }
    }
  }

  /**
   * Stops the postmaster's clock: new connections hang, sessions go on. With `backends` everything hangs, except
   * that sessions opened later are not frozen.
   */
  freeze(options: { readonly backends?: boolean } = {}): void {
    const { pid } = this.#running();
    signalProcess(pid, 'SIGSTOP');
    if (options.backends) for (const child of this.#running().children()) signalProcess(child, 'SIGSTOP');
  }

  /** Undoes `freeze`. */
  thaw(): void {
    const postmaster = this.#running();
    for (const pid of [...postmaster.children(), postmaster.pid]) signalProcess(pid, 'SIGCONT');
  }

  /** Refuses writes (25006) and answers everything else, as a primary that a failover has left behind. */
  async demote(): Promise<void> {
    await control.demote(this.url());
  }

  /** Ends `demote`. A streaming replica becomes a primary. */
  async promote(): Promise<void> {
    await control.promote(this.url());
  }

  /** A replica: goes on receiving, applies nothing more; returns when that is so. */
  async pauseReplay(): Promise<void> {
    await control.pauseReplay(this.url());
  }

  /** Ends `pauseReplay`. */
  async resumeReplay(): Promise<void> {
    await control.resumeReplay(this.url());
  }

  /** A replica: applies each commit this long after it was made; 0 at once. */
  async setApplyDelay(ms: number): Promise<void> {
    await control.setApplyDelay(this.url(), ms);
  }

  /** Ends all client sessions of a database (57P01); returns how many. */
  async terminateAll(database: string): Promise<number> {
    return control.terminateAll(this.url(), database);
  }

  /** Holds `count` connections, or all that are left; the caller releases them. */
  async holdConnections(count?: number): Promise<HeldConnections> {
    return HeldConnections.open(this.url(), count);
  }

  /** A tablespace `name` on a disk of its own; goes with the server. See `SmallDisk.isPossible()`. */
  async smallDisk(name: string, megabytes: number): Promise<SmallDisk> {
    return SmallDisk.mount({ directory: this.#directory, url: this.url() }, name, megabytes);
  }

  /** A streaming replica of this server; returns when it answers read-only queries and is streaming. */
  async replica(options: ServerOptions = {}): Promise<PostgresServer> {
    const name = options.name ?? 'replica';
    const directory = await copyDataDirectory({ primary: this.url(), name }, (await postgresBinaries()).user);
    const replica = await PostgresServer.#startIn(directory, { ...options, name }, {});
    try {
      await untilStreaming(replica.url());
    } catch (error) {
      await replica.dispose();
      throw error;
    }
    return replica;
  }

  /** Stops the server and removes its directory; may be called again. */
  async dispose(): Promise<void> {
    await this.stop('immediate');
    await removeDataDirectory(this.#directory);
  }

  #running(): Postmaster {
    if (!this.#postmaster?.isRunning)
      throw new Error(`server "${this.name}" is not running; call restart() first`);
    return this.#postmaster;
  }
}

/** Somebody else may take the port between our look and the server's start: then another one. */
async function launchOnFreePort(
  directory: string,
  limits: ProcessLimits,
): Promise<{ port: number; postmaster: Postmaster }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    await writeSettings(directory, { port: String(port) });
    try {
      return { port, postmaster: await Postmaster.launch(await postgresBinaries(), directory, limits) };
    } catch (error) {
      const collided = error instanceof StartError && error.message.includes('already in use');
      if (!collided || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}
