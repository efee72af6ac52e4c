import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ShardedDb, ShardingModule, Shards, Tenant } from '@app/sharding';
import { expectNoConnections, waitFor } from '@test/support';
import { deployment, listen, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';

@Controller()
class SleepController {
  constructor(
    @Inject(ShardedDb) private readonly db: ShardedDb,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  @Get('sleep/:seconds')
  async sleep(@Param('seconds') seconds: string): Promise<object> {
    await this.db.manager.query(`select pg_sleep($1::float8)`, [seconds]);
    return { slept: seconds };
  }

  @Get('tx/:seconds')
  async tx(@Tenant() tenant: string, @Param('seconds') seconds: string): Promise<void> {
    await this.db.tx(async (tx) => {
      await tx.query(`insert into notes (tenant_id, body) values ($1, 'lost')`, [tenant]);
      await tx.query(`select pg_sleep($1::float8)`, [seconds]);
    });
  }

  /** Answers at once and goes on working. */
  @Get('after')
  after(@Tenant() tenant: string): object {
    void this.shards.dbFor(tenant).then((db) =>
      db.query(
        `with nap as (select pg_sleep(0.3)) insert into notes (tenant_id, body)
        select $1, 'after' from nap`,
        [tenant],
      ),
    );
    return {};
  }
}

let databases: Deployment;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  databases = await deployment(1);
});

async function boot(platform: string, cancelOnDisconnect?: boolean): Promise<void> {
  await databases.query(0, 'delete from notes');
  const options = databases.options(cancelOnDisconnect === undefined ? {} : { cancelOnDisconnect });
  @Module({ imports: [ShardingModule.forRoot(options)], controllers: [SleepController] })
  class TestModule {}
  const quiet = { logger: false, abortOnError: false } as const;
  app =
    platform === 'Fastify'
      ? await NestFactory.create(TestModule, new FastifyAdapter(), quiet)
      : await NestFactory.create(TestModule, quiet);
  url = await listen(app);
}

async function shutDown(): Promise<void> {
  await app?.close();
  await expectNoConnections(databases.shards[0] ?? '');
}

const get = (path: string, signal?: AbortSignal) =>
  fetch(url + path, { headers: { 'x-tenant-id': 'acme' }, ...(signal && { signal }) });
const stats = () => app.get(Shards).named('shard0').stats();
const sessions = (state: string) =>
  databases.query(
    'control',
    `select pid from pg_stat_activity where query like '%pg_sleep($1::float8)%' and state = $1
    and pid <> pg_backend_pid() and datname = $2`,
    [state, new URL(databases.shards[0] ?? '').pathname.slice(1)],
  );
const sleepers = async () => (await sessions('active')).length;
const settled = (count: number, what: string, timeoutMs = 2500) =>
  waitFor(async () => (await sleepers()) === count, { what, timeoutMs });
const atRest = () =>
  waitFor(async () => stats().active === 0 && stats().waiting === 0, { what: 'the pool to be at rest' });
const notes = async (body: string) =>
  (await databases.query(0, 'select 1 from notes where body = $1', [body])).length;

/** Sends a request and goes away once it sleeps on the server. */
async function abandon(path: string): Promise<void> {
  const client = new AbortController();
  const answer = get(path, client.signal);
  answer.catch(() => undefined);
  await settled(1, 'the statement to run', 5000);
  client.abort();
  await expect(answer).rejects.toThrow();
}

describe.each(['Express', 'Fastify'])('cancel_on_disconnect on %s', (platform) => {
  beforeAll(() => boot(platform, true));
  afterAll(shutDown);

  it('a client that goes away cancels its statement, and the connection is good for the next', async () => {
    await abandon('/sleep/30');
    await settled(0, 'the statement to be cancelled');
    await atRest();
    expect(stats()).toMatchObject({ idle: 1, waiting: 0 });
    expect(await (await get('/sleep/0')).json()).toEqual({ slept: '0' });
    await atRest();
    expect(stats()).toMatchObject({ idle: 1, waiting: 0 });
  });

  it('its transaction is rolled back', async () => {
    await abandon('/tx/30');
    await settled(0, 'the statement to be cancelled');
    await atRest();
    expect(await notes('lost')).toBe(0);
  });

  it('300 of them leave the pool as it was, and no session behind', async () => {
    const before = stats();
    for (let round = 0; round < 10; round++) {
      const clients = Array.from({ length: 30 }, () => new AbortController());
      const answers = clients.map(({ signal }, index) => get(index % 2 ? '/sleep/30' : '/tx/30', signal));
      await settled(4, 'the pool to be full', 5000);
      for (const client of clients) client.abort();
      const ends = await Promise.allSettled(answers);
      expect(ends.filter(({ status }) => status === 'fulfilled')).toEqual([]);
      await settled(0, 'all of them to be cancelled');
    }
    await atRest();
    expect(stats().max).toBe(before.max);
    const answers = await Promise.all(Array.from({ length: 8 }, () => get('/sleep/0')));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await notes('lost')).toBe(0);
  });

  it('what goes on after a complete answer is left alone', async () => {
    expect(
      (await fetch(`${url}/after`, { headers: { 'x-tenant-id': 'acme', connection: 'close' } })).status,
    ).toBe(200);
    await waitFor(async () => (await notes('after')) > 0, { what: 'the work after the answer' });
  });
});

describe('by default', () => {
  beforeAll(() => boot('Express'));
  afterAll(shutDown);

  it('the work of a client that has gone goes on to its end', async () => {
    await abandon('/tx/1');
    await waitFor(async () => (await notes('lost')) === 1, { what: 'the commit' });
  });
});
