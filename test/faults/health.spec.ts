import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { PostgresServer, expectNoConnections, waitFor } from '@test/support';
import { Note, bootApp, listen } from '../support/deployment.js';
import { call } from '../support/bookmarks.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

/** Health says what is so (C65): two shards, each a server of its own. */
let server0: PostgresServer;
let server1: PostgresServer;
let options: ShardingOptions & { database: { shards: { name: string; primaryUrl: string }[] } };
let app: INestApplication;
let url: string;

beforeAll(async () => {
  [server0, server1] = await Promise.all([
    PostgresServer.start({ name: 's0' }),
    PostgresServer.start({ name: 's1' }),
  ]);
  options = {
    database: {
      poolSize: 2,
      connectTimeoutMs: 1000,
      shards: [
        { name: 's0', primaryUrl: await server0.createDatabase('s0') },
        { name: 's1', primaryUrl: await server1.createDatabase('s1') },
      ],
    },
    entities: [Note],
  };
}, 60_000);

afterAll(async () => {
  await server0.dispose();
  await server1.dispose();
});

beforeEach(() => start(options));
afterEach(() => app.close());

async function start(sharding: ShardingOptions): Promise<void> {
  app = await bootApp(sharding);
  url = await listen(app);
}

const UP = {
  group: 0,
  slots: 8192,
  pool_size: 2,
  active_connections: 0,
  idle_connections: 0,
  primary_ready: true,
  primary_detail: 'answers',
  status: 'up',
};
const DOWN = { ...UP, primary_ready: false, status: 'down' };

describe('readiness', () => {
  it.each(['/health', '/ready', '/actuator/health'])(
    'at %s has one component a shard, and nothing else',
    async (path) => {
      const details = { 'db:shard:s0': UP, 'db:shard:s1': UP };
      expect(await call(url + path)).toMatchObject({
        status: 200,
        body: { status: 'ok', info: details, error: {}, details },
      });
      const { body } = await call(url + path);
      expect((body as { details: object }).details).toEqual(details); // an allow-list: no host, no user (S8)
    },
  );

  it('is down for a stopped server, and up again when it is back', async () => {
    await server1.stop();
    expect(await call(`${url}/health`)).toMatchObject({
      status: 503,
      body: {
        error: { 'db:shard:s1': { ...DOWN, primary_detail: 'ECONNREFUSED' } },
        info: { 'db:shard:s0': UP },
      },
    });
    await server1.restart();
    await waitFor(async () => (await call(`${url}/health`)).status === 200, { what: 's1 to be up' });
  });

  it('is down for a frozen server within the probe limit', async () => {
    server1.freeze();
    try {
      const answer = await call(`${url}/health`);
      expect(answer).toMatchObject({
        status: 503,
        body: { error: { 'db:shard:s1': { ...DOWN, primary_detail: 'no answer within 700 ms' } } },
      });
      expect(answer.ms).toBeLessThan(3000);
    } finally {
      server1.thaw();
    }
    await waitFor(async () => (await call(`${url}/health`)).status === 200, { what: 's1 to be up' });
  });

  it('probes all shards at the same time: two frozen ones take one limit', async () => {
    server0.freeze();
    server1.freeze();
    try {
      const answer = await call(`${url}/health`);
      expect(Object.keys((answer.body as { error: object }).error)).toEqual(['db:shard:s0', 'db:shard:s1']);
      expect(answer.ms).toBeLessThan(1300); // one limit of 700 ms, not two
    } finally {
      server0.thaw();
      server1.thaw();
    }
  });

  it('is down for a wrong password, without showing it', async () => {
    await app.close();
    const wrong = options.database.shards.map(({ name, primaryUrl }) => ({
      name,
      primaryUrl: name === 's1' ? primaryUrl.replace(':secret@', ':wrong@') : primaryUrl,
    }));
    await start({ ...options, database: { ...options.database, shards: wrong } });
    const answer = await call(`${url}/health`);
    expect(answer).toMatchObject({
      status: 503,
      body: { error: { 'db:shard:s1': { ...DOWN, primary_detail: '28P01' } } },
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/wrong|127\.0\.0\.1|postgres/);
  });

  it('stays up for a pool that is used up', async () => {
    const db = await app.get(Shards).dbOn('s0');
    const busy = [1, 2].map(() => db.query('select pg_sleep(0.5)'));
    await waitFor(async () => db.shard.stats().active === 2, { what: 'the pool to be used up' });
    expect(await call(`${url}/health`)).toMatchObject({
      status: 200,
      body: { info: { 'db:shard:s0': { ...UP, active_connections: 2 } } },
    });
    await Promise.all(busy);
  });

  it('leaves nothing behind after 1,000 polls', async () => {
    const lanes = Array.from({ length: 20 }, async () => {
      for (let poll = 0; poll < 50; poll++) await call(`${url}/ready`);
    });
    await Promise.all(lanes);
    for (const { primaryUrl } of options.database.shards) await expectNoConnections(primaryUrl);
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    expect(timers).toBeLessThan(50);
  });
});

describe('liveness', () => {
  it('asks no database', async () => {
    server0.freeze();
    server1.freeze();
    try {
      expect(await call(`${url}/health/live`)).toMatchObject({ status: 200, body: { status: 'ok' } });
    } finally {
      server0.thaw();
      server1.thaw();
    }
  });
});
