import { beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { SHARD_MIGRATIONS, migrate, resolveOptions, type MigrateOptions } from '@app/sharding';
import { TestCluster, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class WidenThings1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`insert into things values (7)`);
    await runner.query('alter table things add column name text');
  }
  async down(): Promise<void> {}
}

class WidenThingsBare1700000000001 implements MigrationInterface {
  transaction = false as const;
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`insert into things values (7)`);
    await runner.query('alter table things add column name text');
  }
  async down(): Promise<void> {}
}

const FRAMEWORK = SHARD_MIGRATIONS.map(({ name }) => name).join(', ');
const cluster = TestCluster.attach();
let url: string;
let lines: string[];
let reader: pg.Client;

beforeEach(async () => {
  url = await cluster.createDatabase({ label: 'locked' });
  lines = [];
  await runOnce(url, 'create table things (id int)');
  reader = new pg.Client({ connectionString: url });
  await reader.connect();
  await reader.query('begin');
  await reader.query('select * from things'); // a long report
});

async function run(own: new () => MigrationInterface, options: MigrateOptions) {
  const settings = resolveOptions({
    database: { shards: [{ name: 'only', primaryUrl: url }] },
    migrations: { shards: [own] },
  });
  return migrate(settings, (line) => lines.push(line), options);
}

it.each([WidenThings1700000000001, WidenThingsBare1700000000001])(
  '%p lets others pass while a long transaction holds its table, and succeeds when that has ended',
  async (own) => {
    const migrating = run(own, { lockTimeoutMs: 100, lockAttempts: 100 });
    const again = () => lines.filter((line) => line.includes('got no lock')).length;
    await waitFor(async () => again() >= 2, { what: 'two attempts' });
    const began = performance.now();
    await runOnce(url, 'select * from things'); // behind the waiting migration at most
    expect(performance.now() - began).toBeLessThan(5000);
    await reader.end();
    await migrating;
    expect(lines[0]).toBe(`target=shard:only ${own.name} got no lock, attempt 1 of 100; tries again`);
    expect(lines.at(-1)).toBe(`target=shard:only applied ${FRAMEWORK}, ${own.name}`);
    expect(await runOnce(url, 'select id, name from things')).toEqual([{ id: 7, name: null }]);
  },
);

it('gives up after so many attempts and leaves nothing behind', async () => {
  await expect(run(WidenThings1700000000001, { lockTimeoutMs: 50, lockAttempts: 3 })).rejects.toMatchObject({
    code: 'migration_failed',
    targets: [{ failure: { code: '55P03', migration: 'WidenThings1700000000001' } }],
  });
  expect(lines.filter((line) => line.includes('got no lock'))).toHaveLength(2);
  await reader.end();
  expect(await runOnce(url, 'select * from things')).toEqual([]);
});
