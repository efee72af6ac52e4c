import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { Shards, Tenant } from '@app/sharding';
import { call, type Answer } from './bookmarks.js';
import { NOTES, Note, bootApp, deployment, listen, type Deployment } from './deployment.js';
import { FaultProxy } from './fault-proxy.js';
import { expectNoConnections } from './leaks.js';
import { PostgresServer, type ServerOptions } from './postgres-server.js';
import { waitFor } from './wait-for.js';
import type { INestApplication } from '@nestjs/common';
import type { LoadAnswer } from './load.js';
import type { PoolStats, ShardingOptions } from '@app/sharding';

/** Tenant of the shard that stays well, and of the one that falls ill. */
export const WELL = 'acme';
export const ILL = 'globex';

/** Reads and writes of one tenant: a plain statement, a transaction, and TypeORM's own transaction. */
@Controller('notes')
class NotesController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  async count(@Tenant() tenantId: string): Promise<{ notes: number }> {
    const db = await this.shards.current();
    return { notes: await db.getRepository(Note).countBy({ tenantId }) };
  }

  @Post()
  async write(@Tenant() tenantId: string, @Body() { text: body }: { text: string }): Promise<object> {
    const db = await this.shards.current();
    await db.tx((tx) => tx.getRepository(Note).insert({ tenantId, body }));
    return { body };
  }

  @Post('saved')
  async save(@Tenant() tenantId: string, @Body() { text: body }: { text: string }): Promise<object> {
    const db = await this.shards.current();
    await db.getRepository(Note).save({ tenantId, body });
    return { body };
  }
}

export interface FleetOptions {
  /** Of the server of shard1. */
  readonly server?: ServerOptions;
  readonly database?: ShardingOptions['database'];
  readonly typeorm?: ShardingOptions['typeorm'];
  /** Where the table of shard1 is. */
  readonly tablespace?: (server: PostgresServer) => Promise<string | undefined>;
}

/** Limits of the fault tests: short, so that a test is. */
export const CONNECT_TIMEOUT_MS = 1000;
export const POOL_SIZE = 4;

/**
 * An application over two shards: shard0 on the shared server stays well (tenant `acme`); shard1 is a server of its own
 * behind a proxy (tenant `globex`). Whoever starts it calls `dispose()`, which fails when a connection was left open.
 */
export class NotesFleet {
  private constructor(
    readonly app: INestApplication,
    readonly url: string,
    /** The server of shard1. */
    readonly server: PostgresServer,
    readonly proxy: FaultProxy,
    private readonly databases: Deployment,
  ) {}

  static async start(options: FleetOptions = {}): Promise<NotesFleet> {
    const databases = await deployment(1);
    const server = await PostgresServer.start({ name: 'shard1', ...options.server });
    let proxy: FaultProxy | undefined;
    try {
      const direct = await server.createDatabase('notes');
      const tablespace = await options.tablespace?.(server);
      await server.query(tablespace === undefined ? NOTES : `${NOTES} tablespace ${tablespace}`, [], 'notes');
      proxy = await FaultProxy.start(server);
      const app = await boot([databases.shards[0]!, proxy.url(direct)], options);
      return new NotesFleet(app, await listen(app), server, proxy, databases);
    } catch (error) {
      await proxy?.dispose();
      await server.dispose();
      throw error;
    }
  }

  call(tenant: string, path = 'notes', json?: unknown): Promise<Answer> {
    return call(`${this.url}/${path}`, { tenant, ...(json !== undefined && { json }) });
  }

  write(tenant: string, text: string, path = 'notes'): Promise<Answer> {
    return this.call(tenant, path, { text });
  }

  /** Connections of shard1's pool. */
  stats(): PoolStats {
    return this.app.get(Shards).named('shard1').stats();
  }

  /** The names of the components that `/health` says are down, with what it says about shard1. */
  async health(): Promise<{ status: number; down: string[]; detail: string }> {
    const { status, body } = await call(`${this.url}/health`);
    const { error, details } = body as Record<string, Record<string, { primary_detail: string }>>;
    return { status, down: Object.keys(error!), detail: details!['db:shard:shard1']!.primary_detail };
  }

  /** What is in the tables of both shards, asked behind the library's back. */
  async texts(): Promise<{ tenant: string; text: string }[]> {
    const sql = 'select tenant_id as tenant, body as text from notes order by id';
    const rows = [...(await this.databases.query(0, sql)), ...(await this.server.query(sql, [], 'notes'))];
    return rows as { tenant: string; text: string }[];
  }

  /** Waits until reads and writes of the ill shard go through again and `/health` is up: no restart of the application. */
  async untilWell(timeoutMs = 15_000): Promise<void> {
    const everything = async () =>
      (await this.call(ILL)).status === 200 &&
      (await this.write(ILL, `well again ${performance.now()}`)).status === 201 &&
      (await this.health()).status === 200;
    await waitFor(everything, { what: 'shard1 to be served again', timeoutMs, everyMs: 50 });
  }

  /** Waits until nobody uses a connection of shard1 and nobody waits for one, and the pool is no larger than it may be. */
  async untilIdle(): Promise<void> {
    const idle = async () => {
      const { max, active, waiting, idle: free } = this.stats();
      return active === 0 && waiting === 0 && free <= max;
    };
    await waitFor(idle, { what: `the pool of shard1 to be idle` });
  }

  async dispose(): Promise<void> {
    try {
      await this.app.close();
      await this.proxy.dispose();
      await expectNoConnections(this.databases.shards[0]!);
      if (this.server.isRunning) await expectNoConnections(this.server.url('notes'));
    } finally {
      await this.proxy.dispose();
      await this.server.dispose();
    }
  }
}

/** Acknowledged writes that are not in the tables, and texts that are there more than once: both must be empty. */
export function lostOrDoubled(
  answers: readonly LoadAnswer[],
  rows: readonly { readonly text: string }[],
): { lost: string[]; doubled: string[] } {
  const found = new Map<string, number>();
  for (const { text } of rows) found.set(text, (found.get(text) ?? 0) + 1);
  const acknowledged = answers.flatMap(({ status, text }) =>
    status === 201 && text !== undefined ? [text] : [],
  );
  return {
    lost: acknowledged.filter((text) => !found.has(text)),
    doubled: [...found].filter(([, times]) => times > 1).map(([text]) => text),
  };
}

async function boot(urls: readonly string[], options: FleetOptions): Promise<INestApplication> {
  const sharding: ShardingOptions = {
    database: {
      poolSize: POOL_SIZE,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      drainTimeoutMs: 1000,
      shards: urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl })),
      ...options.database,
    },
    tenancy: { source: 'header' },
    entities: [Note],
    ...(options.typeorm && { typeorm: options.typeorm }),
  };
  return bootApp(sharding, { controllers: [NotesController] });
}
