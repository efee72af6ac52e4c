import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { PLAIN, REPLICATED, ReadingApp, ReplicatedDeployment, servedBy } from '../support/replicated.js';
import type { Reader } from '@app/sharding';

/**
 * A replica that stops, freezes, loses its connections, is too busy, or becomes a primary (C21). Two applications look
 * at it: one falls back to the primary, one is not ready without it. No application is restarted.
 */
let servers: ReplicatedDeployment;
let lenient: ReadingApp;
let strict: ReadingApp;

/** A probe every 200 ms with a limit of 700 ms; generous, for a machine that is busy. */
const NOTICED_WITHIN_MS = 5000;
const CONNECT_TIMEOUT_MS = 1000;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  const shared = { replicaProbeIntervalMs: 200, connectTimeoutMs: CONNECT_TIMEOUT_MS, drainTimeoutMs: 1000 };
  lenient = await ReadingApp.boot(servers.options({ ...shared, replicaFallback: 'primary' }));
  strict = await ReadingApp.boot(servers.options(shared));
});

afterEach(async () => {
  if (servers.replica.isRunning) servers.replica.thaw();
});

afterAll(async () => {
  await lenient.close();
  await strict.close();
  await servers.dispose();
});

async function bothServedByReplica(): Promise<void> {
  for (const reading of [lenient, strict]) {
    await reading.untilReplicaServes();
    expect(await reading.shard0()).toMatchObject({ code: 200, status: 'up', replica_ready: true });
  }
}

/** Each by its policy, within the time in which a fault is noticed; the other shard and the writes go on. */
async function replicaIsOut(detail: unknown): Promise<void> {
  const began = performance.now();
  for (const reading of [lenient, strict]) {
    const out = async () => (await reading.shard0())['replica_ready'] === false;
    await waitFor(out, { what: 'the replica to be left out', timeoutMs: NOTICED_WITHIN_MS });
  }
  await lenient.untilServedBy('primary', NOTICED_WITHIN_MS);
  await strict.untilServedBy('replica_unavailable', NOTICED_WITHIN_MS);
  expect(performance.now() - began).toBeLessThan(NOTICED_WITHIN_MS);
  expect(await lenient.shard0()).toMatchObject({ code: 200, status: 'up', replica_ready: false });
  const { status, ms, components } = await strict.health();
  expect(status).toBe(503);
  expect(ms).toBeLessThan(2000);
  expect(components['db:shard:shard0']).toMatchObject({
    status: 'down',
    primary_ready: true,
    replica_ready: false,
    replica_detail: detail,
  });
  expect(components['db:shard:shard1']).toMatchObject({ status: 'up' });
  expect(await lenient.get()).toMatchObject({ status: 200, body: { servedBy: 'primary' } });
  expect(await strict.get()).toMatchObject({ status: 503, body: { code: 'replica_unavailable' } });
  expect(await strict.get(PLAIN)).toMatchObject({ status: 200 });
  expect(await lenient.write('written')).toMatchObject({ status: 201, body: { servedBy: 'primary' } });
  await expect(lenient.shards.readReplicaFor(REPLICATED)).rejects.toMatchObject({
    code: 'replica_unavailable',
  });
}

/** On the replica it takes long, on the primary it does not. */
const LONG_ON_REPLICA = `select pg_is_in_recovery() as replica, case when pg_is_in_recovery() then pg_sleep(60)::text end`;

/** Starts reads and waits until the replica works on all of them. */
async function readsInFlight(counts: readonly [Reader, number][]) {
  const reads = counts.map(([reader, count]) =>
    Promise.allSettled(Array.from({ length: count }, () => reader.query<object[]>(LONG_ON_REPLICA))),
  );
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const sql = `select 1 from pg_stat_activity where wait_event = 'PgSleep'`;
  await waitFor(async () => (await servers.replica.query(sql)).length === all, {
    what: 'reads on the replica',
  });
  return { reads };
}

/** Reads on the replica that meet `fault` half-way: the primary serves them, or 503. */
async function meetHalfway(fault: () => unknown): Promise<number> {
  await bothServedByReplica();
  const { reads } = await readsInFlight([
    [await lenient.shards.readFor(REPLICATED), 3],
    [await strict.shards.readFor(REPLICATED), 2],
    [await lenient.shards.readReplicaFor(REPLICATED), 1],
  ]);
  const began = performance.now();
  await fault();
  const [allowed, refused, alone] = await Promise.all(reads);
  expect(allowed!.map((end) => end.status === 'fulfilled' && end.value)).toEqual(
    Array.from({ length: 3 }, () => [{ replica: false, case: null }]),
  );
  const codes = [...refused!, ...alone!].map(
    (end) => end.status === 'rejected' && (end.reason as { code: string }).code,
  );
  expect(codes).toEqual(Array.from({ length: 3 }, () => 'replica_unavailable'));
  return performance.now() - began;
}

/** Requests to the other shard until `work` is done; gives the slowest, in milliseconds. */
async function slowestOfOtherShard(work: Promise<unknown>): Promise<number> {
  const times: number[] = [];
  let done = false;
  const until = work.finally(() => (done = true));
  while (!done) {
    const { status, ms } = await strict.get(PLAIN);
    expect(status).toBe(200);
    times.push(ms);
  }
  await until;
  return Math.max(...times);
}

const soon = <T>(look: () => T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(look())));

const stateOf = async (pid: number) => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]![0];

/** A signal takes its time. */
const stopped = (pid: number) =>
  waitFor(async () => (await stateOf(pid)) === 'T', { what: 'the process to stand still' });

it('stopped, and started again', async () => {
  await bothServedByReplica();
  await servers.replica.stop();
  expect(servers.replica.isRunning).toBe(false);
  await replicaIsOut(
    expect.stringMatching(/^(ECONNREFUSED, nothing listens there|57P01|no answer in time.*)$/),
  );
  await servers.replica.restart();
  await bothServedByReplica();
}, 60_000);

it('killed while reads are under way', async () => {
  expect(await meetHalfway(() => servers.replica.kill())).toBeLessThan(NOTICED_WITHIN_MS);
  await replicaIsOut(expect.stringMatching(/^(ECONNREFUSED, nothing listens there|no answer in time.*)$/));
  await servers.replica.restart();
  await bothServedByReplica();
}, 60_000);

describe('frozen', () => {
  it('with its sessions: reads in flight end within about 5 s, and the other shard does not notice', async () => {
    const pid = servers.replica.pid;
    const ending = meetHalfway(() => servers.replica.freeze({ backends: true }));
    const slowest = await slowestOfOtherShard(ending);
    await stopped(pid);
    expect(await ending).toBeLessThan(6000);
    expect(slowest).toBeLessThan(1000);
    await replicaIsOut('no answer in time, or the connection was closed');
    servers.replica.thaw();
    await bothServedByReplica();
  }, 60_000);

  it('the postmaster alone: what needs a new connection is bounded, and then it is left out', async () => {
    await bothServedByReplica();
    servers.replica.freeze();
    await stopped(servers.replica.pid);
    const began = performance.now();
    const allowed = await Promise.all(Array.from({ length: 8 }, () => lenient.get()));
    expect(new Set(allowed.map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await Promise.all(Array.from({ length: 8 }, () => strict.get()));
    expect(refused.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(4 * CONNECT_TIMEOUT_MS + 2000);
    const crowd = (reading: ReadingApp) =>
      Promise.allSettled(
        Array.from({ length: 8 }, async () =>
          (await reading.shards.readFor(REPLICATED)).query('select pg_sleep(0.3)'),
        ),
      );
    const [served, mixed] = await Promise.all([crowd(lenient), crowd(strict)]);
    expect(served.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(mixed.length).toBe(8);
    servers.replica.thaw();
    await bothServedByReplica();
  }, 60_000);
});

it('its sessions ended: every read is answered, by the replica or the primary, and none is left behind', async () => {
  await bothServedByReplica();
  let ended = 0;
  let storming = true;
  const reader = await lenient.shards.readFor(REPLICATED);
  const readers = Array.from({ length: 6 }, async () => {
    let answers = 0;
    while (storming) {
      expect(await reader.query('select count(*)::int as notes from notes')).toHaveLength(1);
      answers++;
    }
    return answers;
  });
  await waitFor(
    async () => {
      ended += await servers.replica.terminateAll('shard0');
      return ended >= 30;
    },
    { what: '30 sessions to be ended', timeoutMs: 20_000, everyMs: 50 },
  );
  storming = false;
  for (const answers of await Promise.all(readers)) expect(answers).toBeGreaterThan(0);
  expect(ended).toBeGreaterThanOrEqual(30);
  await bothServedByReplica();
}, 60_000);

it('busy: its readers go to the primary after the wait for a connection, and it stays ready', async () => {
  const reading = await ReadingApp.boot(
    servers.options({ replicaPoolSize: 1, connectTimeoutMs: 300, replicaFallback: 'primary' }),
  );
  try {
    await reading.untilReplicaServes();
    const reader = await reading.shards.readFor(REPLICATED);
    const long = reader.query('select pg_sleep(1.5)');
    await waitFor(
      async () =>
        (await servers.replica.query(`select 1 from pg_stat_activity where wait_event = 'PgSleep'`))
          .length === 1,
      { what: 'the long read' },
    );
    const began = performance.now();
    const { reads } = reading.shards.named('shard0');
    const states = new Set<boolean | undefined>();
    let waiting = true;
    const watching = Promise.all([servedBy(reader), servedBy(reader)]).finally(() => (waiting = false));
    while (waiting) states.add(await soon(() => reads.replicaStatus()?.ready));
    expect(await watching).toEqual(['primary', 'primary']);
    expect(performance.now() - began).toBeLessThan(3000);
    expect(states).toEqual(new Set([true]));
    expect(await reading.shard0()).toMatchObject({ code: 200, replica_ready: true });
    await expect(servedBy(await reading.shards.readReplicaFor(REPLICATED))).rejects.toMatchObject({
      code: 'replica_unavailable',
      message: 'the replica of shard "shard0" has no free connection',
    });
    await long;
    await reading.untilReplicaServes();
  } finally {
    await reading.close();
  }
}, 60_000);

it('lost in the middle of a read it is looked at at once, not at the next probe', async () => {
  await bothServedByReplica();
  const reading = await ReadingApp.boot(
    servers.options({ replicaProbeIntervalMs: 600_000, replicaFallback: 'primary' }),
  );
  try {
    await reading.untilReplicaServes();
    const { reads } = await readsInFlight([[await reading.shards.readFor(REPLICATED), 2]]);
    expect(await servers.replica.terminateAll('shard0')).toBeGreaterThanOrEqual(2);
    const [ended] = await Promise.all(reads);
    expect(ended!.map((end) => end.status === 'fulfilled' && end.value)).toEqual(
      Array.from({ length: 2 }, () => [{ replica: false, case: null }]),
    );
    await reading.untilReplicaServes(5000);
  } finally {
    await reading.close();
  }
  await bothServedByReplica();
}, 60_000);

it('1,000 questions to health leave no connection on it, but for that of the monitor (C65)', async () => {
  await bothServedByReplica();
  const outsideOfPools = async () => {
    const rows = await servers.replica.query(
      `select application_name as name from pg_stat_activity
        where datname = 'shard0' and application_name like 'nestjs-sharding % shard:%'`,
    );
    return rows.map(({ name }) => String(name));
  };
  const lanes = Array.from({ length: 20 }, async () => {
    for (let poll = 0; poll < 50; poll++) expect((await strict.health()).status).toBe(200);
  });
  await Promise.all(lanes);
  const monitors = Array.from({ length: 2 }, () => 'nestjs-sharding replica-monitor shard:shard0:replica');
  const left = async () => JSON.stringify(await outsideOfPools()) === JSON.stringify(monitors);
  await waitFor(left, { what: 'nothing but the monitors of both applications' });
}, 60_000);

it('become a primary: not used any more, and no write gets through what is left of its connections', async () => {
  await bothServedByReplica();
  const reader = await lenient.shards.readFor(REPLICATED);
  const attempts = reader.tx(async (tx) => {
    await servers.replica.promote();
    return tx.query(`insert into notes (tenant_id, body) values ('acme', 'split brain')`);
  });
  await expect(attempts).rejects.toMatchObject({ driverError: { code: '25006' } });
  expect(await servers.replica.query('select pg_is_in_recovery() as replica')).toEqual([{ replica: false }]);
  await replicaIsOut('is not a replica any more: it is not in recovery');
  expect(await servers.replica.query(`select 1 from notes where body = 'split brain'`, [], 'shard0')).toEqual(
    [],
  );
  expect(strict.shards.named('shard0').replicaStatus()).toMatchObject({ ready: false });
}, 60_000);
