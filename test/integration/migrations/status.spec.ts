import { beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  CONTROL_MIGRATIONS,
  SHARD_MIGRATIONS,
  migrate,
  migrationStatus,
  resolveOptions,
} from '@app/sharding';
import { FaultProxy, TestCluster } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateThings1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table things (id int)');
  }
  async down(): Promise<void> {}
}

class FillThings1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('insert into things values (1)');
  }
  async down(): Promise<void> {}
}

const CONTROL = CONTROL_MIGRATIONS.map(({ name }) => name);
const SHARD = SHARD_MIGRATIONS.map(({ name }) => name);

const cluster = TestCluster.attach();
let urls: string[];

beforeEach(async () => {
  urls = [];
  for (const label of ['control', 'shard0', 'shard1']) urls.push(await cluster.createDatabase({ label }));
});

function settings(shards: (new () => MigrationInterface)[], schema?: string) {
  const [primaryUrl = '', ...rest] = urls;
  const places = rest.map((url, index) => ({ name: `shard${index}`, primaryUrl: url }));
  return resolveOptions({
    database: { primaryUrl, shards: places, connectTimeoutMs: 500 },
    migrations: { shards },
    ...(schema !== undefined && { typeorm: { schema, migrationsTableName: 'My Migrations' } }),
  });
}

const BOTH = [CreateThings1700000000001, FillThings1700000000002];
const CLEAN = { pending: [], unknown: [], invalidIndexes: [] };

it('tells what is applied, pending and unknown, per target', async () => {
  await migrate(settings([CreateThings1700000000001]), () => undefined);
  await migrate(settings(BOTH), () => undefined, { shard: 'shard1' });
  const names = BOTH.map(({ name }) => name);
  expect(await migrationStatus(settings(BOTH))).toEqual([
    { ...CLEAN, target: 'control', ok: true, applied: CONTROL, last: CONTROL.at(-1) },
    {
      ...CLEAN,
      target: 'shard:shard0',
      ok: false,
      applied: [...SHARD, names[0]],
      pending: [names[1]],
      last: names[0],
    },
    { ...CLEAN, target: 'shard:shard1', ok: true, applied: [...SHARD, ...names], last: names[1] },
  ]);
  const [, first, second] = await migrationStatus(settings([CreateThings1700000000001]));
  expect([first!.ok, first!.unknown, second!.ok, second!.unknown]).toEqual([true, [], false, [names[1]]]);
});

it('writes nothing, not even where nothing was ever migrated', async () => {
  const before = await Promise.all(urls.map(dump));
  const [control, shard0] = await migrationStatus(settings(BOTH));
  expect([control!.pending, control!.applied, control!.last]).toEqual([CONTROL, [], undefined]);
  expect(shard0!.pending).toEqual([...SHARD, ...BOTH.map(({ name }) => name)]);
  expect(await Promise.all(urls.map(dump))).toEqual(before);
  await migrate(settings(BOTH), () => undefined);
  const migrated = await Promise.all(urls.map(dump));
  await migrationStatus(settings(BOTH));
  expect(await Promise.all(urls.map(dump))).toEqual(migrated);
  expect(migrated[1]).not.toEqual(before[1]);
});

it('works for a role that may only read', async () => {
  await migrate(settings(BOTH), () => undefined);
  for (const url of urls) {
    const database = pg.escapeIdentifier(new URL(url).pathname.slice(1));
    await runOnce(url, `alter database ${database} set default_transaction_read_only = on`);
  }
  expect((await migrationStatus(settings(BOTH))).map(({ ok }) => ok)).toEqual([true, true, true]);
});

it('looks where TypeORM is told to record', async () => {
  for (const url of urls) await runOnce(url, 'create schema "Own"');
  await migrate(settings(BOTH, 'Own'), () => undefined);
  expect(await runOnce(urls[1]!, 'select name from "Own"."My Migrations" order by id')).toHaveLength(2);
  expect((await migrationStatus(settings(BOTH, 'Own'))).map(({ ok }) => ok)).toEqual([true, true, true]);
  expect((await migrationStatus(settings(BOTH)))[1]!.pending).toHaveLength(2);
});

it('tells of those that cannot be asked, in bounded time, and of the others', async () => {
  await migrate(settings(BOTH), () => undefined);
  const [, silent = ''] = urls;
  const proxy = await FaultProxy.start({ port: Number(new URL(silent).port) });
  proxy.blackHole();
  try {
    await cluster.dropDatabase(urls[2]!);
    urls[1] = proxy.url(silent);
    const [control, shard0, shard1] = await migrationStatus(settings(BOTH));
    expect(control!.ok).toBe(true);
    expect([shard0, shard1]).toEqual([
      {
        ...CLEAN,
        target: 'shard:shard0',
        ok: false,
        applied: [],
        failure: { code: 'shard_unavailable', message: 'shard "shard0" cannot be reached' },
      },
      {
        ...CLEAN,
        target: 'shard:shard1',
        ok: false,
        applied: [],
        failure: { code: '3D000', message: 'shard "shard1" cannot be reached (3D000)' },
      },
    ]);
  } finally {
    await proxy.dispose();
  }
});

/** Every relation with its columns and the file of its rows, every function, and what is recorded. */
async function dump(url: string): Promise<unknown> {
  const relations = `select n.nspname, c.relname, c.relkind, c.relfilenode, c.relnatts, c.xmin::text
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname !~ '^pg_(toast|temp)' order by 1, 2`;
  const routines = 'select oid, proname, xmin::text from pg_proc order by oid';
  const rows = `select relname, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables order by 1`;
  await runOnce(url, 'select pg_stat_force_next_flush()');
  return [await runOnce(url, relations), await runOnce(url, routines), await runOnce(url, rows)];
}
