import { CLUSTER_VARIABLE, type ClusterFacts } from './test-cluster.js';
import { bootApp, deployment, type Deployment } from './deployment.js';
import { PgBouncer } from './pgbouncer.js';
import { TransactionPooler, type PoolerOptions, type TestPooler } from './transaction-pooler.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

/** A name, and what starts it before a server. */
export type PoolerKind = readonly [name: string, start: (options: PoolerOptions) => Promise<TestPooler>];

/** The stand-in, and PgBouncer itself where it is installed. */
export const POOLERS: readonly PoolerKind[] = [
  ['the stand-in', (options) => TransactionPooler.start(options)],
  ...(PgBouncer.isInstalled
    ? [['PgBouncer', (options: PoolerOptions) => PgBouncer.start(options)] as const]
    : []),
];

/** One shard on the shared server, reached through a pooler. Whoever starts it calls `dispose()`. */
export class PooledDeployment {
  readonly #apps: INestApplication[] = [];

  private constructor(
    readonly databases: Deployment,
    readonly pooler: TestPooler,
  ) {}

  static async start(
    start: PoolerKind[1],
    options: Omit<PoolerOptions, 'serverUrl'> = {},
  ): Promise<PooledDeployment> {
    const databases = await deployment(1);
    const { url: serverUrl } = JSON.parse(process.env[CLUSTER_VARIABLE] ?? '') as ClusterFacts;
    return new PooledDeployment(databases, await start({ serverUrl, ...options }));
  }

  /** The shard's URL around the pooler. */
  get direct(): string {
    return this.databases.shards[0] ?? '';
  }

  /** The control database, around the pooler. */
  get directControl(): string {
    return this.databases.control;
  }

  /** Everything through the pooler; `options` win. */
  options(database: ShardingOptions['database'] = {}): ShardingOptions & { database: object } {
    const { pooler, databases, direct } = this;
    return databases.options({
      primaryUrl: pooler.url(databases.control),
      pooler: 'transaction',
      shards: [{ name: 'shard0', primaryUrl: pooler.url(direct) }],
      ...database,
    });
  }

  /** Boots an application, which ends with this. */
  async boot(
    database: ShardingOptions['database'] = {},
    rest: Partial<ShardingOptions> = {},
  ): Promise<INestApplication> {
    const app = await bootApp({ ...this.options(database), ...rest });
    this.#apps.push(app);
    return app;
  }

  /** Asks the shard behind the library's back, and around the pooler. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]> {
    return this.databases.query(0, sql, params);
  }

  /** Statements that contain `text` and run on the server now. */
  async running(text: string): Promise<number> {
    const sql = `select from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()
      and datname = current_database() and position($1 in query) > 0`;
    return (await this.query(sql, [text])).length;
  }

  /** Closes the applications only. */
  async closeApps(): Promise<void> {
    for (const app of this.#apps.splice(0)) await app.close();
  }

  async dispose(): Promise<void> {
    await this.closeApps();
    await this.pooler.dispose();
  }
}
