import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { REPLICATED, ReadingApp, ReplicatedDeployment, servedBy } from '../support/replicated.js';
import type { Reader } from '@app/sharding';

/** A replica that lags, and one whose recovery needs what a read uses. */
let servers: ReplicatedDeployment;
let lenient: ReadingApp;
let strict: ReadingApp;

beforeAll(async () => {
  const settings = { max_standby_streaming_delay: '0', hot_standby_feedback: 'off' };
  servers = await ReplicatedDeployment.start({ replica: { settings } });
  lenient = await ReadingApp.boot(servers.options({ maxReplicaLagMs: 500, replicaFallback: 'primary' }));
  strict = await ReadingApp.boot(servers.options({ maxReplicaLagMs: 500 }));
});

afterAll(async () => {
  await lenient.close();
  await strict.close();
  await servers.dispose();
});

const write = (body: string) =>
  servers.primary.query(`insert into notes (tenant_id, body) values ('acme', $1)`, [body], 'shard0');

async function bothServedByReplica(): Promise<void> {
  for (const reading of [lenient, strict]) {
    await reading.untilReplicaServes();
    expect(await reading.shard0()).toMatchObject({ code: 200, status: 'up', replica_ready: true });
  }
}

it('lagging more than max_replica_lag_ms it is left out, and used again when it has caught up', async () => {
  await bothServedByReplica();
  await servers.replica.pauseReplay();
  await write('late');
  await lenient.untilServedBy('primary', 5000);
  await strict.untilServedBy('replica_unavailable', 5000);
  const state = {
    primary_ready: true,
    replica_ready: false,
    replica_detail: 'lags more than 500 ms',
    replica_lag_ms: expect.any(Number),
  };
  expect(await lenient.shard0()).toMatchObject({ ...state, code: 200, status: 'up' });
  const down = await strict.shard0();
  expect(down).toMatchObject({ ...state, code: 503, status: 'down' });
  expect(down['replica_lag_ms']).toBeGreaterThan(500);
  expect(await lenient.get()).toMatchObject({ body: { servedBy: 'primary', notes: 1 } });
  await waitFor(async () => Number((await strict.shard0())['replica_lag_ms']) > 1000, {
    what: 'the lag to grow',
  });

  await servers.replica.resumeReplay();
  await bothServedByReplica();
  expect(await strict.get()).toMatchObject({ body: { servedBy: 'replica', notes: 1 } });
}, 60_000);

it('late by a constant time below the limit it goes on serving, and the lag is told', async () => {
  const reading = await ReadingApp.boot(servers.options({ maxReplicaLagMs: 10_000 }));
  try {
    await servers.replica.setApplyDelay(700);
    const lags: number[] = [];
    await waitFor(
      async () => {
        await write('steady');
        lags.push(Number((await reading.shard0())['replica_lag_ms']));
        return lags.filter((lag) => lag >= 500).length >= 10;
      },
      { what: 'the lag to show', timeoutMs: 15_000 },
    );
    expect(Math.max(...lags)).toBeLessThan(3000);
    expect(await reading.servedBy()).toBe('replica');
  } finally {
    await servers.replica.setApplyDelay(0);
    await reading.close();
  }
  await bothServedByReplica();
}, 60_000);

it('a busy primary is no lag: what was written since the last probe is not held against it', async () => {
  const reading = await ReadingApp.boot(
    servers.options({ maxReplicaLagMs: 500, replicaProbeIntervalMs: 1500 }),
  );
  await reading.untilReplicaServes();
  let writing = true;
  const writers = Array.from({ length: 2 }, async () => {
    while (writing) await write('busy');
  });
  const seen: unknown[] = [];
  await waitFor(
    async () => {
      const { replica_ready, replica_lag_ms } = await reading.shard0();
      seen.push(replica_ready);
      expect(Number(replica_lag_ms)).toBeLessThan(500);
      return seen.length >= 60;
    },
    { what: 'sixty looks', timeoutMs: 20_000, everyMs: 50 },
  );
  writing = false;
  await Promise.all(writers);
  await reading.close();
  expect(new Set(seen)).toEqual(new Set([true]));
}, 60_000);

/** A read that holds a snapshot on the replica, and is quick on the primary. */
const HOLDING = `select id, pg_is_in_recovery() as replica,
  case when pg_is_in_recovery() then pg_sleep(20)::text end as slept from notes limit 1`;

async function conflicts(): Promise<number> {
  const sql = `select sum(confl_snapshot + confl_lock)::int as count from pg_stat_database_conflicts`;
  return Number((await servers.replica.query(sql))[0]?.['count']);
}

it('a read that its recovery ends (40001) is served by the primary, or replica_unavailable; it stays ready', async () => {
  await write('conflict');
  await servers.untilCaughtUp();
  await bothServedByReplica();
  const before = await conflicts();
  const [allowed, refused, alone] = [
    await lenient.shards.readFor(REPLICATED),
    await strict.shards.readFor(REPLICATED),
    await lenient.shards.readReplicaFor(REPLICATED),
  ] as [Reader, Reader, Reader];
  const began = performance.now();
  const reads = Promise.allSettled([
    allowed.query<{ replica: boolean }[]>(HOLDING),
    allowed.tx((tx) => tx.query<{ replica: boolean }[]>(HOLDING)),
    refused.query(HOLDING),
    alone.query(HOLDING),
  ]);
  const sleeping = `select 1 from pg_stat_activity where wait_event = 'PgSleep'`;
  await waitFor(async () => (await servers.replica.query(sleeping)).length === 4, {
    what: 'reads on the replica',
  });
  await servers.primary.query(`update notes set body = body || '.'`, [], 'shard0');
  await servers.primary.query('vacuum (freeze, truncate) notes', [], 'shard0');
  const [one, two, three, four] = await reads;
  expect(performance.now() - began).toBeLessThan(10_000);
  await waitFor(async () => (await conflicts()) > before, { what: 'the statistics to tell of a conflict' });
  expect(one).toMatchObject({ status: 'fulfilled', value: [{ replica: false }] });
  expect(two).toMatchObject({ status: 'fulfilled', value: [{ replica: false }] });
  const unavailable = {
    status: 'rejected',
    reason: {
      code: 'replica_unavailable',
      message: 'the replica of shard "shard0" gave the read up, to follow its primary (40001)',
    },
  };
  expect([three, four]).toMatchObject([unavailable, unavailable]);
  expect(await strict.shard0()).toMatchObject({ code: 200, replica_ready: true });
  expect(await servedBy(refused)).toBe('replica');
}, 60_000);
