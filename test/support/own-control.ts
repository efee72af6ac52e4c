import { DirectoryConnection, Shards } from '@app/sharding';
import { runOnce, type Row } from './admin-query.js';
import { installControl } from './control-database.js';
import { bootApp, deployment } from './deployment.js';
import { FaultProxy } from './fault-proxy.js';
import { expectNoConnections } from './leaks.js';
import { PostgresServer, type ServerOptions } from './postgres-server.js';
import { waitFor } from './wait-for.js';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';
import type { Deployment } from './deployment.js';

type OpenDirectory = DirectoryConnection['opened'][number];

/** Session of the listener in `pg_stat_activity`. */
const LISTENERS = `select pid from pg_stat_activity where application_name = 'nestjs-sharding directory control'`;

/**
 * Two shards on the shared server, each with half of the slots, and the control database on a server of its own behind a
 * proxy, so that it can be stopped, frozen and cut. Whoever starts it calls `dispose()`, which fails when a connection was
 * left open.
 */
export class OwnControl {
  readonly #apps = new Set<INestApplication>();

  private constructor(
    readonly server: PostgresServer,
    readonly proxy: FaultProxy,
    private readonly databases: Deployment,
  ) {}

  static async start(server: ServerOptions = {}): Promise<OwnControl> {
    const databases = await deployment(2);
    const control = await PostgresServer.start({ name: 'control', ...server });
    try {
      await installControl(await control.createDatabase('control'));
      return new OwnControl(control, await FaultProxy.start(control), databases);
    } catch (error) {
      await control.dispose();
      throw error;
    }
  }

  /** Of the superuser, past the proxy. */
  get direct(): string {
    return this.server.url('control');
  }

  get shards(): readonly string[] {
    return this.databases.shards;
  }

  options(database: ShardingOptions['database'] = {}): ShardingOptions {
    const [lower = '', upper = ''] = this.databases.shards;
    return this.databases.options({
      primaryUrl: this.proxy.url(this.direct),
      connectTimeoutMs: 1000,
      drainTimeoutMs: 1000,
      directoryShardRouter: true,
      shards: [
        { name: 'shard0', primaryUrl: lower, slots: ['0-8191'] },
        { name: 'shard1', primaryUrl: upper, slots: ['8192-16383'] },
      ],
      ...database,
    });
  }

  /** Boots an application over them; `dispose()` closes it where the caller has not. */
  async boot(
    database: ShardingOptions['database'] = {},
    parts: ModuleMetadata = {},
  ): Promise<RunningDirectory> {
    const app = await bootApp(this.options(database), parts);
    this.#apps.add(app);
    return new RunningDirectory(app);
  }

  /** One statement on the control database, behind the back of everybody. */
  sql(text: string, params: readonly unknown[] = []): Promise<Row[]> {
    return runOnce(this.direct, text, params);
  }

  /** Pins a key by plain SQL; null takes the pin away. Gives when the commit was known. */
  async pin(key: string, shard: string | null): Promise<number> {
    const write = `insert into _sharding_directory (routing_key, shard_name) values ($1, $2)
      on conflict (routing_key) do update set shard_name = excluded.shard_name`;
    if (shard === null) await this.sql('delete from _sharding_directory where routing_key = $1', [key]);
    else await this.sql(write, [key, shard]);
    return performance.now();
  }

  /** The processes of the server that serve listening connections. */
  async listeners(): Promise<number[]> {
    return (await this.server.query(LISTENERS)).map(({ pid }) => Number(pid));
  }

  async dispose(): Promise<void> {
    try {
      for (const app of this.#apps) await app.close();
      await this.proxy.dispose();
      if (this.server.isRunning) await expectNoConnections(this.direct);
    } finally {
      await this.proxy.dispose();
      await this.server.dispose();
    }
  }
}

/** An application and what it knows of the directory. */
export class RunningDirectory {
  readonly shards: Shards;
  readonly opened: readonly OpenDirectory[];

  constructor(readonly app: INestApplication) {
    this.shards = app.get(Shards);
    this.opened = app.get(DirectoryConnection).opened;
  }

  /** What the first directory knows. */
  get directory(): OpenDirectory['directory'] {
    const [open] = this.opened;
    if (!open) throw new Error('the application has no directory');
    return open.directory;
  }

  /** The name of the shard that a key is routed to, or the code of the error. */
  async route(key: string): Promise<string> {
    try {
      return (await this.shards.shardFor(key)).name;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  }

  /** The shard that owns a key's slot. */
  hashed(key: string): string {
    return this.shards.topology.shardOf(key).name;
  }

  /** The shard that does not. */
  other(key: string): string {
    return this.hashed(key) === 'shard0' ? 'shard1' : 'shard0';
  }

  /** Waits until a key is routed there; gives how long it took. */
  async untilRouted(key: string, to: string, timeoutMs = 5000): Promise<number> {
    const began = performance.now();
    const routed = async () => (await this.route(key)) === to;
    await waitFor(routed, { what: `${key} to be routed to ${to}`, timeoutMs, everyMs: 5 });
    return performance.now() - began;
  }

  async untilListening(listening: boolean, timeoutMs = 10_000): Promise<number> {
    const began = performance.now();
    const is = async () => this.directory.listening === listening;
    await waitFor(is, { what: `listening to be ${listening}`, timeoutMs, everyMs: 5 });
    return performance.now() - began;
  }
}
