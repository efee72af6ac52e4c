import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Shards, type ShardDb } from '@app/sharding';
import { waitFor } from '@test/support';
import { Note, bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';

/** One connection, tenant A first, then tenant B on the same one: nothing of A is left (threat S12). */
let databases: Deployment;
let app: INestApplication;
let db: ShardDb;

beforeAll(async () => {
  databases = await deployment(1);
  await databases.query(
    0,
    `create function remember(tenant text) returns text language sql as $$ select set_config('app.tenant', tenant, false) $$`,
  );
});

beforeEach(async () => {
  app = await bootApp(databases.options({ poolSize: 1 }));
  db = await app.get(Shards).dbOn('shard0');
});

afterEach(() => app.close());

const tenantSetting = async () =>
  (await db.query<{ tenant: string | null }[]>(`select current_setting('app.tenant', true) as tenant`))[0]
    ?.tenant ?? '';

it.each([
  ['SET', `set app.tenant = 'acme'`],
  ['set_config', `select set_config('app.tenant', 'acme', false)`],
  ['a function that sets', `select remember('acme')`],
  ['SET in a DO block', `do $$ begin perform set_config('app.tenant', 'acme', false); end $$`],
])('clears what %s left', async (_how, sql) => {
  await db.query(sql);
  expect(await tenantSetting()).toBe('');
});

it('clears what a transaction left', async () => {
  await db.tx((tx) => tx.query(`set app.tenant = 'acme'`));
  expect(await tenantSetting()).toBe('');
});

it('clears what came through TypeORM repositories and runners', async () => {
  await db.getRepository(Note).query(`set app.tenant = 'acme'`);
  expect(await tenantSetting()).toBe('');
  await db.tx(async (tx) => void (await tx.manager.queryRunner?.query(`set app.tenant = 'acme'`)));
  expect(await tenantSetting()).toBe('');
});

it.each([
  [`select set_config('app.tenant', 'acme', false)`],
  [`/* hint */ set app.tenant = 'acme'`],
  [`select 1; set app.tenant = 'acme'`],
])('clears what a runner of the application left: %s', async (sql) => {
  const runner = db.manager.connection.createQueryRunner();
  await runner.query(sql);
  await runner.release();
  expect(await tenantSetting()).toBe('');
});

it('never hands on the transaction that a runner of the application began', async () => {
  const runner = db.manager.connection.createQueryRunner();
  await runner.query('begin');
  await runner.query(`insert into notes (tenant_id, body) values ('acme', 'never committed')`);
  await runner.release();
  await db.getRepository(Note).insert({ tenantId: 'globex', body: 'acknowledged' });
  expect(
    await databases.query(0, `select body from notes where body like '%e%' order by body`),
  ).toContainEqual({
    body: 'acknowledged',
  });
  expect(await databases.query(0, `select body from notes where body = 'never committed'`)).toEqual([]);
});

it('drops temporary tables', async () => {
  await db.query('create temp table mine as select 1 as secret');
  await expect(db.query('select * from mine')).rejects.toMatchObject({ driverError: { code: '42P01' } });
});

it('drops prepared statements, listeners and cursors', async () => {
  await db.query('prepare mine as select 1');
  await db.query('listen mine');
  expect(await db.query('select name from pg_prepared_statements')).toEqual([]);
  expect(await db.query('select pg_listening_channels()')).toEqual([]);
});

it('frees session advisory locks', async () => {
  await db.query('select pg_advisory_lock(42)');
  await waitFor(
    async () =>
      (await databases.query(0, `select from pg_locks where locktype = 'advisory' and objid = 42`)).length ===
      0,
    { what: 'the advisory lock to be freed' },
  );
});

it('never hands on a connection with an open transaction', async () => {
  await db.query('begin').catch(() => undefined);
  await db.query(`insert into notes (tenant_id, body) values ('acme', 'kept')`);
  expect(await databases.query(0, `select body from notes where body = 'kept'`)).toEqual([{ body: 'kept' }]);
});

it('costs nothing on plain repository work: the connection is the same', async () => {
  const pid = async () => (await db.query<{ pid: number }[]>('select pg_backend_pid() as pid'))[0]?.pid;
  const before = await pid();
  await db.getRepository(Note).count();
  await db.tx((tx) => tx.getRepository(Note).count());
  expect(await pid()).toBe(before);
});
