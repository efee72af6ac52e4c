import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { PostgresServer, waitFor } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { deployment } from '../../support/deployment.js';
import { bootMetrics } from './metrics-app.js';
import { scrape, select, valueOf } from './samples.js';
import type { INestApplication } from '@nestjs/common';

let server: PostgresServer;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  server = await PostgresServer.start({ name: 'metrics' });
  await server.createDatabase('shard1');
  const { options, shards } = await deployment(1);
  const places = [
    { name: 'shard0', primaryUrl: shards[0]! },
    { name: 'shard1', primaryUrl: server.url('shard1') },
  ];
  ({ app, url } = await bootMetrics(options({ shards: places })));
});

afterAll(async () => {
  await app?.close();
  await server?.dispose();
});

const shard1 = { shard: 'shard1', role: 'primary' };

it('a stopped server opens the breaker, and its failures are counted; the other shard is as it was', async () => {
  const shards = app.get(Shards);
  await (await shards.dbOn('shard1')).query('select 1');
  expect(valueOf(await scrape(url), 'sharding_breaker_open', shard1)).toBe(0);
  await server.stop();
  const query = async () => (await shards.dbOn('shard1')).query('select 1');
  await waitFor(
    async () => {
      await query().catch(() => undefined);
      return valueOf(await scrape(url), 'sharding_breaker_open', shard1) === 1;
    },
    { what: 'the breaker to open' },
  );
  await expect(query()).rejects.toMatchObject({ code: 'shard_unavailable' });
  const samples = await scrape(url);
  expect(
    valueOf(samples, 'sharding_failures_total', {
      ...shard1,
      operation: 'checkout',
      code: 'shard_unavailable',
    }),
  ).toBeGreaterThan(0);
  expect(valueOf(samples, 'sharding_breaker_open', { shard: 'shard0' })).toBe(0);
  expect(select(samples, 'sharding_failures_total', { shard: 'shard0' })).toEqual([]);
  expect((await call(`${url}/actuator/metrics`)).body).toMatchObject({
    database_shards: {
      shard0: { primary: { breaker: 'closed' } },
      shard1: { primary: { breaker: expect.stringMatching(/^(open|half_open)$/) } },
    },
  });
});

it('a server that is back closes it', async () => {
  await server.restart();
  await waitFor(async () => valueOf(await scrape(url), 'sharding_breaker_open', shard1) === 0, {
    what: 'the breaker to close',
  });
});
