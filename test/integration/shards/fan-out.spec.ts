import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { ShardingError, Shards } from '@app/sharding';
import { freePort, waitFor } from '@test/support';
import { Note, bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardOutcome, Shard } from '@app/sharding';

/** shard0 and shard2 live, shard1 has no server, shard3 lives. */
let databases: Deployment;
let app: INestApplication;
let shards: Shards;

beforeAll(async () => {
  databases = await deployment(4);
  const dead = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`;
  const urls = databases.shards.map((url, index) => (index === 1 ? dead : url));
  const declared = urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl }));
  app = await bootApp(databases.options({ shards: declared }));
  shards = app.get(Shards);
});

afterAll(() => app.close());

const summary = (outcomes: readonly ShardOutcome<Shard, unknown>[]) =>
  outcomes.map((outcome) => {
    if (outcome.ok) return [outcome.shard.name, outcome.value];
    const { error } = outcome;
    return [outcome.shard.name, error instanceof ShardingError ? error.code : (error as Error).message];
  });

it('gives one outcome a shard in declaration order, whatever fails (C57)', async () => {
  const outcomes = await shards.each<unknown>((db) => {
    if (db.shard.name === 'shard2') throw new Error('synchronous'); // not a promise
    return db.shard.name === 'shard0' ? pause(60, 'slow') : db.getRepository(Note).count();
  });
  expect(summary(outcomes)).toEqual([
    ['shard0', 'slow'],
    ['shard1', 'shard_unavailable'],
    ['shard2', 'synchronous'],
    ['shard3', 0],
  ]);
});

it('does not call the work for a shard that cannot be reached', async () => {
  const called: string[] = [];
  await shards.each((db) => called.push(db.shard.name));
  expect(called.toSorted()).toEqual(['shard0', 'shard2', 'shard3']);
});

it('keeps at most `width` shards busy', async () => {
  let running = 0;
  let most = 0;
  await shards.each(
    async () => {
      most = Math.max(most, ++running);
      await pause(20);
      running--;
    },
    { width: 2 },
  );
  expect(most).toBe(2);
});

it('cancels at the deadline on the server and keeps the other outcomes', async () => {
  const outcomes = await shards.each<unknown>(
    (db) => (db.shard.name === 'shard3' ? db.query('select pg_sleep(30) /* each late */') : 'in time'),
    { deadlineMs: 300 },
  );
  expect(summary(outcomes)).toEqual([
    ['shard0', 'in time'],
    ['shard1', 'shard_unavailable'],
    ['shard2', 'in time'],
    ['shard3', 'deadline_exceeded'],
  ]);
  await statementsGone('each late');
  await expect((await shards.dbOn('shard3')).query('select 1 as one')).resolves.toEqual([{ one: 1 }]);
});

it('aborts with its signal, also through TypeORM and inside a tx', async () => {
  const controller = new AbortController();
  const sleeping = shards.each(
    (db) => db.tx((tx) => tx.getRepository(Note).query('select pg_sleep(30) /* each abort */')),
    { signal: controller.signal },
  );
  await waitFor(async () => (await statements('each abort')).length === 3, {
    what: 'three statements to run',
  });
  controller.abort();
  expect(summary(await sleeping).map(([, end]) => end)).toEqual([
    'aborted',
    'shard_unavailable',
    'aborted',
    'aborted',
  ]);
  await statementsGone('each abort');
});

it('sends nothing more for a shard whose time is up', async () => {
  let late: Promise<unknown> = Promise.resolve();
  await shards.each(
    async (db) => {
      if (db.shard.name !== 'shard0') return;
      late = pause(100).then(() => db.getRepository(Note).insert({ tenantId: 'acme', body: 'late' }));
      late.catch(() => undefined);
      await late;
    },
    { deadlineMs: 40 },
  );
  await expect(late).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(await databases.query(0, 'select * from notes')).toEqual([]);
});

it('never lets a cancel hit the next statement of the connection', async () => {
  const db = await shards.dbOn('shard0');
  for (let round = 0; round < 25; round++) {
    const [outcome] = await shards.each<unknown>(
      (on) => (on.shard.name === 'shard0' ? on.query('select pg_sleep(0.02)') : 0),
      {
        deadlineMs: 18 + (round % 6),
      },
    );
    expect(outcome?.shard.name).toBe('shard0');
    await expect(
      Promise.all([1, 2, 3, 4].map(() => db.query('select pg_sleep(0.005)'))),
    ).resolves.toHaveLength(4);
  }
});

it.each([{ width: 0 }, { width: 1.5 }, { width: Number.NaN }])('refuses %p', async (options) => {
  await expect(shards.each(() => 0, options)).rejects.toMatchObject({ code: 'invalid_options' });
});

it.each([0, -1, 0.5, Infinity, 2 ** 31])('refuses the deadline %p on every shard', async (deadlineMs) => {
  const outcomes = await shards.each(() => 0, { deadlineMs });
  expect(summary(outcomes).map(([, code]) => code)).toEqual(
    Array.from({ length: 4 }, () => 'invalid_options'),
  );
});

it('ends a transaction inside of it, also one that waits for something else', async () => {
  await shards.each(
    (db) =>
      db.tx(async (tx) => {
        await tx.query('select 1');
        await new Promise<never>(() => undefined);
      }),
    { deadlineMs: 100 },
  );
  await waitFor(async () => shards.all().every((shard) => shard.stats().active === 0), {
    what: 'all connections to be back',
  });
});

it('lends its deadline to nobody who opens the same shard', async () => {
  const fresh = await bootApp({ ...databases.options(), createDataSource: slowToBuild });
  const own = fresh.get(Shards);
  const hurried = own.each(() => 0, { deadlineMs: 1 });
  await expect(own.dbOn('shard0')).resolves.toMatchObject({ shard: { name: 'shard0' } });
  expect(summary(await hurried).map(([, code]) => code)).toContain('deadline_exceeded');
  await fresh.close();
});

async function slowToBuild(_target: string, _role: string, options: DataSourceOptions): Promise<DataSource> {
  await pause(150);
  return new DataSource(options);
}

async function statements(mark: string) {
  return databases.query(
    'control',
    `select pid from pg_stat_activity where state = 'active' and query like '%/* ${mark} */%' and pid <> pg_backend_pid()`,
  );
}

async function statementsGone(mark: string): Promise<void> {
  await waitFor(async () => (await statements(mark)).length === 0, { what: `"${mark}" to be cancelled` });
}
