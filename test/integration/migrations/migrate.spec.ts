import { beforeEach, expect, it } from '@jest/globals';
import { migrate, resolveOptions } from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateThings1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table things (id int)');
  }
  async down(): Promise<void> {}
}

class IndexThings1700000000002 implements MigrationInterface {
  transaction = false as const; // an index built concurrently cannot be built in a transaction
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create unique index concurrently things_id on things (id)');
  }
  async down(): Promise<void> {}
}

class CreateSettings1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table settings (name text)');
  }
  async down(): Promise<void> {}
}

const ON_CONTROL = 'SlotFunctions1796000000001, DirectoryTables1796000000002, SlotMapTables1796000000003';
const ON_SHARDS = 'SlotFunctions1796000000001';

const cluster = TestCluster.attach();
let urls: string[];
let lines: string[];

beforeEach(async () => {
  urls = [];
  for (const label of ['control', 'shard0', 'shard1', 'shard2'])
    urls.push(await cluster.createDatabase({ label }));
  lines = [];
});

function run(): Promise<void> {
  const [primaryUrl = '', ...shards] = urls;
  const settings = resolveOptions({
    database: {
      primaryUrl,
      shards: shards.map((url, index) => ({ name: `shard${index}`, primaryUrl: url })),
    },
    migrations: {
      control: [CreateSettings1700000000001],
      shards: [CreateThings1700000000001, IndexThings1700000000002],
    },
  });
  return migrate(settings, (line) => lines.push(line));
}

const name = (url: string) => new URL(url).pathname.slice(1);

it('migrates control, then the shards in order, and skips what is applied', async () => {
  await run();
  await run();
  const applied = `applied ${ON_SHARDS}, CreateThings1700000000001, IndexThings1700000000002`;
  expect(lines).toEqual([
    `target=control applied ${ON_CONTROL}, CreateSettings1700000000001`,
    `target=shard:shard0 ${applied}`,
    `target=shard:shard1 ${applied}`,
    `target=shard:shard2 ${applied}`,
    'target=control up to date',
    'target=shard:shard0 up to date',
    'target=shard:shard1 up to date',
    'target=shard:shard2 up to date',
  ]);
  for (const url of urls) await expectNoConnections(url);
});

it('stops at the first failure, names the target, and goes on from there', async () => {
  await cluster.query('create table things (id text)', [], name(urls[2]!));
  await expect(run()).rejects.toMatchObject({
    code: 'migration_failed',
    message:
      'the migrations of shard:shard1 failed; mend the cause and run again: targets before it are skipped',
  });
  expect(lines.slice(2)).toEqual(['target=shard:shard1 failed (42P07)', 'target=shard:shard2 not attempted']);
  await cluster.query('drop table things', [], name(urls[2]!));
  lines = [];
  await run();
  expect(lines.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'target=control up',
    'target=shard:shard0 up',
    'target=shard:shard1 applied',
    'target=shard:shard2 applied',
  ]);
});

it('names a target that cannot be reached without its URL', async () => {
  await cluster.dropDatabase(urls[1]!);
  await expect(run()).rejects.toMatchObject({ code: 'migration_failed' });
  expect(lines).toEqual([
    `target=control applied ${ON_CONTROL}, CreateSettings1700000000001`,
    'target=shard:shard0 failed (3D000)',
    'target=shard:shard1 not attempted',
    'target=shard:shard2 not attempted',
  ]);
});
