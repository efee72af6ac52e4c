import { beforeEach, describe, expect, it } from '@jest/globals';
import { SHARD_MIGRATIONS, migrate, migrationStatus, resolveOptions } from '@app/sharding';
import pg from 'pg';
import { TestCluster, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class IndexThings1700000000002 implements MigrationInterface {
  transaction = false as const;
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create unique index concurrently if not exists "Things Id" on things (id)');
  }
  async down(): Promise<void> {}
}

const FRAMEWORK = SHARD_MIGRATIONS.map(({ name }) => name).join(', ');
const cluster = TestCluster.attach();
let urls: string[];
let lines: string[];

beforeEach(async () => {
  urls = await Promise.all([0, 1].map((index) => cluster.createDatabase({ label: `shard${index}` })));
  for (const url of urls) await runOnce(url, 'create table things (id int)');
  await runOnce(urls[1]!, 'insert into things values (1), (1)');
  lines = [];
});

const settings = () =>
  resolveOptions({
    database: { shards: urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl })) },
    migrations: { shards: [IndexThings1700000000002] },
  });
const run = () => migrate(settings(), (line) => lines.push(line));
const invalid = async () =>
  (await migrationStatus(settings())).map(({ invalidIndexes, ok }) => [ok, invalidIndexes]);

it('an index whose build has failed is named by the status, and built anew by the next run', async () => {
  await expect(run()).rejects.toMatchObject({ code: 'migration_failed' });
  expect(lines.slice(-2)).toEqual([
    `target=shard:shard1 applied ${FRAMEWORK}`,
    'target=shard:shard1 failed in IndexThings1700000000002 (23505): could not create unique index "Things Id"',
  ]);
  expect(await invalid()).toEqual([
    [true, []],
    [false, ['public."Things Id"']],
  ]);
  await runOnce(urls[1]!, 'delete from things');
  lines = [];
  await run();
  expect(lines).toEqual([
    'target=shard:shard0 up to date',
    'target=shard:shard1 dropped the invalid index public."Things Id", which an earlier build has left',
    'target=shard:shard1 applied IndexThings1700000000002',
  ]);
  expect(await invalid()).toEqual([
    [true, []],
    [true, []],
  ]);
});

it('waits for old transactions as long as it has to: it blocks nobody', async () => {
  await runOnce(urls[1]!, 'delete from things');
  const holder = await holding(urls[1]!);
  const migrating = migrate(settings(), (line) => lines.push(line), { lockTimeoutMs: 50, lockAttempts: 1 });
  const building = `select from pg_stat_activity where query like 'create unique index%' and wait_event_type = 'Lock'
    and now() - query_start > '250 ms'`;
  await waitFor(async () => (await cluster.query(building)).length > 0, { what: 'the build to wait' });
  await holder.end();
  await migrating;
  expect(lines.at(-1)).toBe(`target=shard:shard1 applied ${FRAMEWORK}, IndexThings1700000000002`);
});

describe('an index with the same name in two schemas', () => {
  class IndexOwnThings1700000000002 implements MigrationInterface {
    transaction = false as const;
    async up(runner: QueryRunner): Promise<void> {
      const sql =
        '-- each id once\ncreate unique index concurrently"Größe \uff01"/* ! */on "Own".things (id)';
      await runner.query(sql);
    }
    async down(): Promise<void> {}
  }

  it('is dropped where the build has failed, and only there', async () => {
    const [url = ''] = urls;
    const build = (table: string) =>
      runOnce(url, `create unique index concurrently "Größe \uff01" on ${table} (id)`);
    await runOnce(url, 'create schema "Own"');
    await runOnce(url, 'create table "Own".things (id int)');
    for (const table of ['things', '"Own".things']) {
      await runOnce(url, `insert into ${table} values (1), (1)`);
      await expect(build(table)).rejects.toMatchObject({ code: '23505' });
    }
    await runOnce(url, 'truncate "Own".things');
    const own = resolveOptions({
      database: { shards: [{ name: 'shard0', primaryUrl: url }] },
      migrations: { shards: [IndexOwnThings1700000000002] },
    });
    await migrate(own, (line) => lines.push(line));
    expect(lines[0]).toBe(
      'target=shard:shard0 dropped the invalid index "Own"."Größe \uff01", which an earlier build has left',
    );
    expect((await migrationStatus(own)).map(({ invalidIndexes }) => invalidIndexes)).toEqual([
      ['public."Größe \uff01"'],
    ]);
  });
});

/** A transaction that has read the table and goes on. */
async function holding(url: string): Promise<{ end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select * from things');
  return { end: () => client.end() };
}
