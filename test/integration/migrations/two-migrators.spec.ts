import { beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { migrate, resolveOptions, type MigrateOptions } from '@app/sharding';
import { TestCluster, expectNoConnections, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CountRuns1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table things (id int)');
    await runner.query('select pg_sleep(0.3)');
  }
  async down(): Promise<void> {}
}

class CountRuns1700000000002 implements MigrationInterface {
  transaction = false as const; // the lock alone keeps others away
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('select pg_sleep(0.3)');
    await runner.query('insert into things values (1)');
  }
  async down(): Promise<void> {}
}

const cluster = TestCluster.attach();
let url: string;

beforeEach(async () => {
  url = await cluster.createDatabase({ label: 'shared' });
});

async function run(lines: string[], options: MigrateOptions = {}) {
  const settings = resolveOptions({
    database: { shards: [{ name: 'only', primaryUrl: url }] },
    migrations: { shards: [CountRuns1700000000001, CountRuns1700000000002] },
  });
  return migrate(settings, (line) => lines.push(line), options);
}

const LOCK = `select pg_advisory_lock(hashtextextended('nestjs-sharding.migrations', 0))`;

/** Holds the lock of the database as another migrator does. */
async function holding(): Promise<{ readonly pid: number; end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(LOCK);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { pid: rows[0]!.pid, end: () => client.end() };
}

it('never meet: the second waits, says so, and finds everything done', async () => {
  const lines: string[][] = [[], [], []];
  const results = await Promise.all(lines.map((own) => run(own)));
  expect(results.map(([result]) => result!.state).toSorted()).toEqual(['done', 'skipped', 'skipped']);
  expect(await runOnce(url, 'select count(*)::int as count from things')).toEqual([{ count: 1 }]);
  const waiting = lines.flat().filter((line) => line.includes('waiting'));
  expect(waiting).toHaveLength(2);
  expect(waiting[0]).toMatch(
    /^target=shard:only waiting for another migrator \(process \d+ of the server\)$/,
  );
  await expectNoConnections(url);
});

it('wait no longer than they are told, and say who is in the way', async () => {
  const other = await holding();
  const lines: string[] = [];
  await expect(run(lines, { waitMs: 300 })).rejects.toMatchObject({
    targets: [
      {
        state: 'failed',
        failure: {
          code: 'deadline_exceeded',
          message: `shard:only is being migrated by another migrator (process ${other.pid} of the server), for longer than 0.3 s: wait for it, or end it`,
        },
      },
    ],
  });
  expect(lines[0]).toBe(
    `target=shard:only waiting for another migrator (process ${other.pid} of the server)`,
  );
  await other.end();
  await run(lines);
  expect(lines.at(-1)).toMatch(/^target=shard:only applied /);
});

it('do not wait where nothing is pending', async () => {
  await run([]);
  const other = await holding();
  const lines: string[] = [];
  await run(lines);
  expect(lines).toEqual(['target=shard:only up to date']);
  await other.end();
});

it('end when they are told to, also while they wait', async () => {
  const other = await holding();
  const stop = new AbortController();
  const lines: string[] = [];
  const waiting = run(lines, { signal: stop.signal });
  waiting.catch(() => undefined);
  await waitFor(async () => lines.length > 0, { what: 'the migrator to wait' });
  stop.abort();
  await expect(waiting).rejects.toMatchObject({
    code: 'migration_failed',
    targets: [
      {
        state: 'failed',
        failure: {
          code: 'aborted',
          message: 'interrupted; its transaction is rolled back: run again to go on',
        },
      },
    ],
  });
  await other.end();
  await expectNoConnections(url);
  expect(await runOnce(url, `select to_regclass('_sharding_migrations') as table`)).toEqual([
    { table: null },
  ]);
});
