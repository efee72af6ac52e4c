import { beforeEach, expect, it } from '@jest/globals';
import { CONTROL_MIGRATIONS, migrate, resolveOptions } from '@app/sharding';
import { TestCluster } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateThings1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table things (tenant_id text,
      slot int generated always as (_sharding_slot(tenant_id)) stored)`);
  }
  async down(): Promise<void> {}
}

const ON_CONTROL = CONTROL_MIGRATIONS.map(({ name }) => name);
const cluster = TestCluster.attach();
let url: string;

beforeEach(async () => {
  url = await cluster.createDatabase({ label: 'framework' });
});

/** Lines of one run on the only database, which gets the sets of control and of a shard. */
async function run(url: string, own: (new () => MigrationInterface)[] = []): Promise<string[]> {
  const lines: string[] = [];
  const settings = resolveOptions({ database: { primaryUrl: url }, migrations: { shards: own } });
  await migrate(settings, (line) => lines.push(line));
  return lines;
}

async function recorded(): Promise<string[]> {
  const rows = await runOnce(url, 'select name from _sharding_migrations order by right(name, 13)');
  return rows.map((row) => String(row['name']));
}

it('comes before the migrations of the application, each once, in a table of its own', async () => {
  expect(await run(url, [CreateThings1700000000001])).toEqual([
    `target=control applied ${ON_CONTROL.join(', ')}, CreateThings1700000000001`,
  ]);
  expect(await run(url, [CreateThings1700000000001])).toEqual(['target=control up to date']);
  expect(await recorded()).toEqual(ON_CONTROL);
  expect(await runOnce(url, 'select name from migrations')).toEqual([{ name: 'CreateThings1700000000001' }]);
});

it('is applied once by many migrators at the same time', async () => {
  const lines = await Promise.all(Array.from({ length: 6 }, () => run(url)));
  const applied = lines.flat().flatMap((line) => line.match(/\w+\d{13}/g) ?? []);
  expect(applied.toSorted()).toEqual(ON_CONTROL.toSorted());
});

it('keeps what succeeded and goes on from there', async () => {
  await runOnce(url, 'create table _sharding_directory (id int)');
  await expect(run(url)).rejects.toMatchObject({ code: 'migration_failed' });
  expect(await recorded()).toEqual(['SlotFunctions1796000000001']);
  expect(await runOnce(url, `select to_regclass('_sharding_revision') as table`)).toEqual([{ table: null }]);
  await runOnce(url, 'drop table _sharding_directory');
  expect(await run(url)).toEqual([`target=control applied ${ON_CONTROL.slice(1).join(', ')}`]);
});

it('goes to the first schema of the search_path', async () => {
  await runOnce(url, 'create schema "My own"');
  const own = `${url}?options=${encodeURIComponent('-c search_path="My\\ own"')}`;
  await run(own);
  await runOnce(own, `insert into _sharding_directory values ('acme', 'shard1')`);
  expect(await runOnce(own, 'select routing_key from _sharding_directory_changes')).toEqual([
    { routing_key: 'acme' },
  ]);
  const sql = `select distinct relnamespace::regnamespace::text as schema from pg_class where relname like E'\\\\_sharding%'`;
  expect(await runOnce(url, sql)).toEqual([{ schema: '"My own"' }]);
});
