import { beforeEach, expect, it } from '@jest/globals';
import { migrate, migrationStatus, resolveOptions } from '@app/sharding';
import pg from 'pg';
import { TestCluster } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateOrders1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table orders (id bigint generated always as identity, body text)');
  }
  async down(): Promise<void> {}
}

const cluster = TestCluster.attach();
let url: string;
let lines: string[];

beforeEach(async () => {
  url = await cluster.createDatabase({ label: 'columns' });
  lines = [];
});

const run = async (primaryUrl = url) => {
  const database = { shards: [{ name: 'a', primaryUrl }] };
  const settings = resolveOptions({ database, migrations: { shards: [CreateOrders1700000000001] } });
  const results = await migrate(settings, (line) => lines.push(line));
  return { results, status: await migrationStatus(settings) };
};

it('a sequence of somebody else is named with its owner, and left', async () => {
  for (const role of ['identity_migrator', 'Somebody Else']) {
    await runOnce(url, `drop role if exists ${pg.escapeIdentifier(role)}`);
    await runOnce(url, `create role ${pg.escapeIdentifier(role)} login password 'mine'`);
  }
  await runOnce(url, 'grant create, usage on schema public to identity_migrator');
  await runOnce(url, 'create table theirs (id bigserial, body text)');
  await runOnce(url, 'alter table theirs owner to "Somebody Else"');
  const limited = new URL(url);
  limited.username = 'identity_migrator';
  limited.password = 'mine';
  const { results, status } = await run(limited.href);
  expect(results.map(({ state }) => state)).toEqual(['done']);
  expect(lines).toContain(
    'target=shard:a public.theirs.id belongs to the role "Somebody Else": its ids are not interleaved',
  );
  expect(status.map(({ ok }) => ok)).toEqual([true]);
  const steps = `select increment_by::int from pg_sequences where sequencename ~ '^(orders|theirs)' order by 1 desc`;
  expect(await runOnce(url, steps)).toEqual([{ increment_by: 1024 }, { increment_by: 1 }]);
});

it('one that counts down, or is too small, is named with the reason', async () => {
  await runOnce(url, 'create table down (id bigint generated always as identity (increment by -1))');
  await runOnce(url, 'create table small (id serial)');
  await run();
  expect(lines.slice(0, 2)).toEqual([
    'target=shard:a public.down.id counts down: its ids are not interleaved',
    'target=shard:a public.small.id is integer: its ids are not interleaved',
  ]);
});

it('is looked at to the last digit, and whatever its sequence counts in', async () => {
  await run();
  await runOnce(url, `select setval('orders_id_seq', 9007199254740993 + 1024)`); // one beyond 2^53 + 1024
  await runOnce(url, 'create table wide (id bigint)');
  await runOnce(url, 'create sequence wide_id as integer increment by 1024 start 3 owned by wide.id');
  const { results } = await run();
  expect(results.map(({ interleaved }) => interleaved)).toEqual([['public.wide.id']]);
  expect((await run()).results.map(({ state }) => state)).toEqual(['skipped']);
  await runOnce(url, `select setval('orders_id_seq', 9007199254740994 + 1024)`);
  expect((await run()).results.map(({ interleaved }) => interleaved)).toEqual([['public.orders.id']]);
});

it('is read the same where the application lets the driver make numbers of bigints', async () => {
  await run();
  const text = pg.types.getTypeParser(20) as (value: string) => unknown;
  pg.types.setTypeParser(20, Number);
  try {
    expect((await run()).results.map(({ state }) => state)).toEqual(['skipped']);
  } finally {
    pg.types.setTypeParser(20, text);
  }
});
