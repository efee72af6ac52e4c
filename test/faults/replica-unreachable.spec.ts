import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FaultProxy, waitFor } from '@test/support';
import { PLAIN, REPLICATED, ReadingApp, ReplicatedDeployment } from '../support/replicated.js';

/** A network between the application and the replica that swallows everything, refuses, or is slow. */
let servers: ReplicatedDeployment;
let proxy: FaultProxy;
let lenient: ReadingApp;
let strict: ReadingApp;

const NOTICED_WITHIN_MS = 6000;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  proxy = await FaultProxy.start(servers.replica);
  const way = { replica: { url: (name?: string) => proxy.url(servers.replica.url(name)) } };
  const shared = { connectTimeoutMs: 1000, replicaProbeIntervalMs: 200, drainTimeoutMs: 1000 };
  lenient = await ReadingApp.boot(servers.options({ ...shared, replicaFallback: 'primary' }, way));
  strict = await ReadingApp.boot(servers.options(shared, way));
});

afterAll(async () => {
  await lenient.close();
  await strict.close();
  await proxy.dispose();
  await servers.dispose();
});

async function bothServedByReplica(): Promise<void> {
  for (const reading of [lenient, strict]) {
    await reading.untilReplicaServes();
    expect(await reading.shard0()).toMatchObject({ code: 200, status: 'up', replica_ready: true });
  }
}

async function out(): Promise<void> {
  await lenient.untilServedBy('primary', NOTICED_WITHIN_MS);
  await strict.untilServedBy('replica_unavailable', NOTICED_WITHIN_MS);
  expect(await lenient.shard0()).toMatchObject({ code: 200, status: 'up', replica_ready: false });
  expect(await strict.shard0()).toMatchObject({ code: 503, status: 'down', replica_ready: false });
  expect(await strict.get(PLAIN)).toMatchObject({ status: 200 });
}

it('a black hole: reads that are under way end in bounded time, on the primary', async () => {
  await bothServedByReplica();
  const reader = await lenient.shards.readFor(REPLICATED);
  const long = `select pg_is_in_recovery() as replica, case when pg_is_in_recovery() then pg_sleep(60)::text end`;
  const reads = Promise.all([1, 2, 3].map(() => reader.query<{ replica: boolean }[]>(long)));
  await waitFor(
    async () =>
      (await servers.replica.query(`select 1 from pg_stat_activity where wait_event = 'PgSleep'`)).length ===
      3,
    { what: 'reads on the replica' },
  );
  const began = performance.now();
  proxy.blackHole();
  expect(proxy.connections).toBeGreaterThan(3);
  expect((await reads).flat().map(({ replica }) => replica)).toEqual([false, false, false]);
  expect(performance.now() - began).toBeLessThan(NOTICED_WITHIN_MS);
  await out();
  const health = await strict.health();
  expect(health.ms).toBeLessThan(2000);
  proxy.heal();
  await bothServedByReplica();
}, 60_000);

it('refused connections: those that exist go on, and none is needed to go on', async () => {
  await bothServedByReplica();
  await proxy.refuse();
  await proxy.dropAll();
  await out();
  await proxy.accept();
  await bothServedByReplica();
}, 60_000);

it('cut in the middle of a statement: the primary serves it, or 503, once', async () => {
  await bothServedByReplica();
  const before = proxy.injections;
  proxy.cutOn(/cut here/, 'after');
  const reader = await lenient.shards.readFor(REPLICATED);
  expect(await reader.query(`select pg_is_in_recovery() as replica, 'cut here' as text`)).toMatchObject([
    { replica: false },
  ]);
  proxy.cutOn(/cut there/, 'before');
  await expect(
    (await strict.shards.readFor(REPLICATED)).query(`select 'cut there' as text`),
  ).rejects.toMatchObject({ code: 'replica_unavailable' });
  expect(proxy.injections - before).toBe(2);
  await bothServedByReplica();
}, 60_000);

it('a commit that is not answered leaves nothing unknown: the read is served by the primary', async () => {
  await bothServedByReplica();
  const before = proxy.injections;
  proxy.cutOn(/^commit/i, 'after');
  const reader = await lenient.shards.readFor(REPLICATED);
  expect(await reader.tx((snapshot) => snapshot.query('select 1 as one'))).toEqual([{ one: 1 }]);
  expect(proxy.injections - before).toBe(1);
  await bothServedByReplica();
  proxy.cutOn(/^commit/i, 'after');
  const refused = (await strict.shards.readFor(REPLICATED)).tx((snapshot) => snapshot.query('select 1'));
  await expect(refused).rejects.toMatchObject({
    code: 'replica_unavailable',
  });
  expect(proxy.injections - before).toBe(2);
  await bothServedByReplica();
}, 60_000);
