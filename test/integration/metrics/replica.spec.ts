import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { call } from '../../support/bookmarks.js';
import { ReplicatedDeployment } from '../../support/replicated.js';
import { bootMetrics } from './metrics-app.js';
import { scrape, select, valueOf } from './samples.js';
import type { INestApplication } from '@nestjs/common';

let databases: ReplicatedDeployment;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  databases = await ReplicatedDeployment.start();
  ({ app, url } = await bootMetrics(databases.options()));
}, 60_000);

afterAll(async () => {
  await app?.close();
  await databases?.dispose();
});

const replica = { shard: 'shard0', role: 'replica' };

it('a replica has its readiness, its lag and its pool', async () => {
  await waitFor(async () => valueOf(await scrape(url), 'sharding_replica_ready') === 1, {
    what: 'the replica',
  });
  const samples = await scrape(url);
  expect(select(samples, 'sharding_replica_ready').map(({ labels }) => labels)).toEqual([
    { shard: 'shard0' },
  ]);
  expect(valueOf(samples, 'sharding_replica_lag_seconds')).toBeLessThan(1);
  expect(valueOf(samples, 'sharding_pool_max_connections', replica)).toBe(4);
  expect((await call(`${url}/actuator/metrics`)).body).toEqual({
    database_shards: {
      control: { primary: place(4) },
      shard0: {
        group: 0,
        slots: 8192,
        primary: place(4),
        replica: { ...place(4), ready: true, detail: 'streaming', lag_ms: expect.any(Number) },
      },
      shard1: { group: 0, slots: 8192, primary: place(4) },
    },
  });
});

it('what it serves is counted as its own', async () => {
  const reader = await app.get(Shards).readFor('acme');
  const read = () => reader.tx((snapshot) => snapshot.query('select 1'));
  await read(); // opening sends statements of its own
  const before = await scrape(url);
  await read();
  const after = await scrape(url);
  const more = (what: string) => valueOf(after, what, replica)! - valueOf(before, what, replica)!;
  expect(more('sharding_checkout_wait_seconds_count')).toBe(1);
  expect(more('sharding_transaction_duration_seconds_count')).toBe(1);
  expect(more('sharding_query_duration_seconds_count')).toBe(3);
  expect(valueOf(after, 'sharding_query_duration_seconds_count', { role: 'primary' })).toBeUndefined();
});

it('its lag is told in seconds while it replays nothing', async () => {
  const onReplica = databases.replica.url('shard0');
  await runOnce(onReplica, 'select pg_wal_replay_pause()');
  const db = await app.get(Shards).dbOn('shard0');
  await db.query(`insert into notes (tenant_id, body) values ('acme', 'x')`);
  await waitFor(async () => (valueOf(await scrape(url), 'sharding_replica_lag_seconds') ?? 0) > 0.5, {
    what: 'the lag to show',
  });
  expect(valueOf(await scrape(url), 'sharding_replica_lag_seconds')).toBeLessThan(20);
  await runOnce(onReplica, 'select pg_wal_replay_resume()');
  await waitFor(async () => (valueOf(await scrape(url), 'sharding_replica_lag_seconds') ?? 1) < 0.3, {
    what: 'the lag to shrink',
  });
});

it('a stopped one is not ready, and its breaker opens', async () => {
  await databases.replica.stop();
  await waitFor(
    async () => {
      const samples = await scrape(url);
      return (
        valueOf(samples, 'sharding_replica_ready') === 0 &&
        valueOf(samples, 'sharding_breaker_open', replica) === 1
      );
    },
    { what: 'the stop to show' },
  );
  expect((await call(`${url}/actuator/metrics`)).body).toMatchObject({
    database_shards: {
      shard0: { replica: { ready: false, detail: expect.stringMatching(/ECONNREFUSED|57P0/) } },
    },
  });
});

function place(max: number) {
  return { pool: { max, active: 0, idle: expect.any(Number), waiting: 0 }, breaker: 'closed' };
}
