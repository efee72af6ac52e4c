import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { ShardedDb, Tenant } from '@app/sharding';
import { call, type Answer } from './bookmarks.js';
import { NOTES, Note, bootApp, listen } from './deployment.js';
import { PostgresServer } from './postgres-server.js';
import { runOnce } from './admin-query.js';
import { installControl } from './control-database.js';
import { waitFor } from './wait-for.js';
import { Shards } from '@app/sharding';
import type { INestApplication } from '@nestjs/common';
import type { Reader, ShardDb, ShardingOptions } from '@app/sharding';
import type { ServerOptions } from './postgres-server.js';

const MIGRATIONS = `create table migrations (id serial primary key, timestamp bigint not null, name varchar not null);
  insert into migrations (timestamp, name) values (1, 'First1')`;

/** A function that writes, and one that does so in a query that looks like a read. */
const FUNCTIONS = `create function add_note(tenant text, text text) returns bigint language sql
  begin atomic insert into notes (tenant_id, body) values (tenant, text) returning id; end`;

/** Tenant of shard0, which has the replica, and of shard1, which has none. */
export const REPLICATED = 'acme';
export const PLAIN = 'globex';

/** Where databases are reached: a server, or a proxy before one. */
export type Way = Pick<PostgresServer, 'url'>;

/** A shard of its own primary and replica servers, and a second shard without; whoever starts it disposes it. */
export class ReplicatedDeployment {
  private constructor(
    readonly primary: PostgresServer,
    readonly replica: PostgresServer,
    private readonly names: { readonly control: string; readonly shards: readonly string[] },
  ) {}

  static async start(
    settings: { primary?: ServerOptions; replica?: ServerOptions } = {},
  ): Promise<ReplicatedDeployment> {
    const primary = await PostgresServer.start({ name: 'primary', ...settings.primary });
    try {
      const shards = ['shard0', 'shard1'];
      for (const name of ['control', ...shards]) await primary.createDatabase(name);
      await installControl(primary.url('control'));
      for (const name of shards) await runOnce(primary.url(name), `${NOTES}; ${MIGRATIONS}; ${FUNCTIONS}`);
      const replica = await primary.replica({ name: 'replica', ...settings.replica });
      return new ReplicatedDeployment(primary, replica, { control: 'control', shards });
    } catch (error) {
      await primary.dispose();
      throw error;
    }
  }

  /**
   * Both shards on the primary server; shard0 with a replica. Probes every 100 ms.
   *
   * @param ways where shard0 and its replica are reached, if not at the servers themselves
   */
  options(
    database: ShardingOptions['database'] = {},
    { primary = this.primary, replica = this.replica }: { primary?: Way; replica?: Way } = {},
  ): ShardingOptions & { database: object } {
    const { control, shards } = this.names;
    const [first = '', second = ''] = shards;
    return {
      database: {
        primaryUrl: this.primary.url(control),
        poolSize: 4,
        replicaProbeIntervalMs: 100,
        shards: [
          { name: 'shard0', primaryUrl: primary.url(first), replicaUrl: replica.url(first) },
          { name: 'shard1', primaryUrl: this.primary.url(second) },
        ],
        ...database,
      },
      tenancy: { source: 'header' },
      entities: [Note],
    };
  }

  /** Another server with the databases of this one, whose replica is none of it. The caller disposes it. */
  async primaryLikeShard0(): Promise<PostgresServer> {
    const other = await PostgresServer.start({ name: 'other' });
    await other.createDatabase('shard0');
    await other.query(`${NOTES}; ${MIGRATIONS}`, [], 'shard0');
    return other;
  }

  /** Waits until the replica has applied all that the primary has written. */
  async untilCaughtUp(timeoutMs = 10_000): Promise<void> {
    const [row] = await this.primary.query('select pg_current_wal_flush_lsn()::text as lsn');
    const sql = 'select 1 where pg_last_wal_replay_lsn() >= $1::pg_lsn';
    await waitFor(async () => (await this.replica.query(sql, [row?.['lsn']])).length === 1, {
      what: 'the replica to catch up',
      timeoutMs,
    });
  }

  async dispose(): Promise<void> {
    await this.replica.dispose();
    await this.primary.dispose();
  }
}

/** Which server answers a reader. */
export async function servedBy(reader: Reader): Promise<'replica' | 'primary'> {
  const [row] = await reader.query<[{ replica: boolean }]>('select pg_is_in_recovery() as replica');
  return row.replica ? 'replica' : 'primary';
}

/** Reads through `ShardedDb.reader()`, and writes with a read after it, each in one request. */
@Controller('notes')
class ReadingController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get()
  async count(@Tenant() tenantId: string): Promise<object> {
    return this.#read(tenantId);
  }

  @Post()
  async write(@Tenant() tenantId: string, @Body() { body }: { body: string }): Promise<object> {
    await this.db.getRepository(Note).insert({ tenantId, body });
    return this.#read(tenantId);
  }

  /** Lets half a second pass between the write and the read. */
  @Post('slow')
  async slow(@Tenant() tenantId: string, @Body() { body }: { body: string }): Promise<object> {
    await this.db.getRepository(Note).insert({ tenantId, body });
    await this.db.query('select pg_sleep(0.5)');
    return this.#read(tenantId);
  }

  async #read(tenantId: string): Promise<object> {
    const reader = this.db.reader();
    return {
      notes: await reader.getRepository(Note).countBy({ tenantId }),
      servedBy: await servedBy(reader),
    };
  }
}

/** What `/health` says of one component. */
export type Component = Record<string, unknown> & { status: string };

/** An application over a {@link ReplicatedDeployment}, listening; whoever boots it closes it. */
export class ReadingApp {
  private constructor(
    readonly app: INestApplication,
    readonly url: string,
  ) {}

  static async boot(options: ShardingOptions): Promise<ReadingApp> {
    const app = await bootApp(options, { controllers: [ReadingController] });
    return new ReadingApp(app, await listen(app));
  }

  get shards(): Shards {
    return this.app.get(Shards);
  }

  get(tenant = REPLICATED): Promise<Answer> {
    return call(`${this.url}/notes`, { tenant });
  }

  write(body: string, tenant = REPLICATED, path = 'notes'): Promise<Answer> {
    return call(`${this.url}/${path}`, { tenant, json: { body } });
  }

  /** Who serves `readFor` in a context that has written nothing; the code of its error where nobody does. */
  async servedBy(tenant = REPLICATED): Promise<string> {
    try {
      return await this.shards.runFor(tenant, async () => servedBy(await this.shards.readFor(tenant)));
    } catch (error) {
      return String((error as { code?: unknown }).code);
    }
  }

  /** Runs `work` in a context of its own. */
  inContext<T>(work: (db: ShardDb) => Promise<T>, tenant = REPLICATED): Promise<T> {
    return this.shards.runFor(tenant, work);
  }

  async health(): Promise<{ status: number; ms: number; components: Record<string, Component> }> {
    const { status, body, ms } = await call(`${this.url}/health`);
    return { status, ms, components: (body as { details: Record<string, Component> }).details };
  }

  /** The component of shard0 with the status of the whole answer. */
  async shard0(): Promise<Component & { code: number }> {
    const { status, components } = await this.health();
    return { ...components['db:shard:shard0']!, code: status };
  }

  /** Waits until the replica serves readers. */
  async untilReplicaServes(timeoutMs = 15_000): Promise<void> {
    await waitFor(async () => (await this.servedBy()) === 'replica', {
      what: 'the replica to serve reads',
      timeoutMs,
      everyMs: 50,
    });
  }

  /** Waits until nobody does, or until the primary does. */
  async untilServedBy(whom: string, timeoutMs = 15_000): Promise<void> {
    await waitFor(async () => (await this.servedBy()) === whom, { what: `reads by ${whom}`, timeoutMs });
  }

  close(): Promise<void> {
    return this.app.close();
  }
}
