import { beforeEach, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import {
  CONTROL_MIGRATIONS,
  MigrationFailed,
  SHARD_MIGRATIONS,
  migrate,
  resolveOptions,
} from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import { join } from 'node:path';
import { runOnce } from '../../support/admin-query.js';
import { createScratchDirectory, removeScratchDirectory } from '../../support/scratch-directory.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { MigrateOptions, TargetResult } from '@app/sharding';

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

const CONTROL = CONTROL_MIGRATIONS.map(({ name }) => name);
const SHARD = SHARD_MIGRATIONS.map(({ name }) => name);
const ON_CONTROL = CONTROL.join(', ');
const ON_SHARDS = SHARD.join(', ');

const cluster = TestCluster.attach();
let urls: string[];
let lines: string[];

beforeEach(async () => {
  urls = [];
  for (const label of ['control', 'shard0', 'shard1', 'shard2'])
    urls.push(await cluster.createDatabase({ label }));
  lines = [];
});

function run(options: MigrateOptions = {}): Promise<readonly TargetResult[]> {
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
  return migrate(settings, (line) => lines.push(line), options);
}

/** Without the time. */
const shown = (results: readonly TargetResult[]) =>
  results.map(({ target, state, names }) => [target, state, names.length]);

const name = (url: string) => new URL(url).pathname.slice(1);

it('migrates control, then the shards in order, and skips what is applied', async () => {
  expect(shown(await run())).toEqual([
    ['control', 'done', CONTROL.length + 1],
    ['shard:shard0', 'done', SHARD.length + 2],
    ['shard:shard1', 'done', SHARD.length + 2],
    ['shard:shard2', 'done', SHARD.length + 2],
  ]);
  expect(shown(await run())).toEqual(
    ['control', 'shard:shard0', 'shard:shard1', 'shard:shard2'].map((target) => [target, 'skipped', 0]),
  );
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
  expect(lines.slice(2)).toEqual([
    `target=shard:shard1 applied ${ON_SHARDS}`,
    'target=shard:shard1 failed in CreateThings1700000000001 (42P07): relation "things" already exists',
    'target=shard:shard2 not attempted',
  ]);
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
    'target=shard:shard0 failed (3D000): shard "shard0" cannot be reached (3D000)',
    'target=shard:shard1 not attempted',
    'target=shard:shard2 not attempted',
  ]);
});

it('tells no value of a row, whoever complains of it', async () => {
  const told = async (up: string) => {
    const FailingStep1700000000009 = class implements MigrationInterface {
      name = 'FailingStep1700000000009';
      async up(runner: QueryRunner): Promise<void> {
        await runner.query(`create table people (mail text); insert into people values ('alice')`);
        await runner.query(up);
      }
      async down(): Promise<void> {}
    };
    const settings = resolveOptions({
      database: { shards: [{ name: 'only', primaryUrl: urls[0]! }] },
      migrations: { shards: [FailingStep1700000000009] },
    });
    await expect(migrate(settings, (line) => lines.push(line))).rejects.toBeInstanceOf(MigrationFailed);
    return lines.at(-1)?.replace('target=shard:only failed in FailingStep1700000000009 ', '');
  };
  expect(await told('alter table people alter mail type int using mail::int')).toBe(
    '(22P02): invalid input syntax for type integer: [hidden]',
  );
  expect(await told(`alter table people add check (mail <> 'alice')`)).toBe(
    '(23514): check constraint "people_mail_check" of relation "people" is violated by some row',
  );
  const raise = `do $$ begin raise unique_violation using message = 'alice is there', table = 'people'; end $$`;
  expect(await told(raise)).toMatch(/^\(23505\): a function of the database has raised it/);
  expect(await told(`do $$ begin raise 'see postgres://app:hush@db/x'; end $$`)).toBe(
    '(P0001): see [hidden]',
  );
});

it('tells of every target what came of it, also in the error', async () => {
  await cluster.query('create table things (id text)', [], name(urls[2]!));
  const error = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MigrationFailed);
  const { targets } = error as MigrationFailed;
  expect(shown(targets)).toEqual([
    ['control', 'done', CONTROL.length + 1],
    ['shard:shard0', 'done', SHARD.length + 2],
    ['shard:shard1', 'failed', SHARD.length],
    ['shard:shard2', 'not_attempted', 0],
  ]);
  expect(targets[2]!.failure).toEqual({
    code: '42P07',
    message: 'relation "things" already exists',
    migration: 'CreateThings1700000000001',
  });
  expect(targets.map(({ ms }) => ms > 0)).toEqual([true, true, true, false]);
});

it('takes one shard, or the control database, alone', async () => {
  expect(shown(await run({ only: 'control' }))).toEqual([['control', 'done', CONTROL.length + 1]]);
  expect(shown(await run({ shard: 'shard1' }))).toEqual([['shard:shard1', 'done', SHARD.length + 2]]);
  await expect(run({ shard: 'shard7' })).rejects.toMatchObject({ code: 'unknown_shard' });
  await expect(run({ shard: 'shard1', only: 'control' })).rejects.toMatchObject({ code: 'invalid_options' });
});

it('goes on behind the canary only when it is told to', async () => {
  const asked: unknown[] = [];
  const afterCanary = (answer: boolean) => async (result: TargetResult) => {
    asked.push(result.target, await runOnce(urls[1]!, `select to_regclass('things')::text as made`));
    return answer;
  };
  expect(shown(await run({ canary: 'shard1', afterCanary: afterCanary(false) }))).toEqual([
    ['control', 'done', CONTROL.length + 1],
    ['shard:shard0', 'not_attempted', 0],
    ['shard:shard1', 'done', SHARD.length + 2],
    ['shard:shard2', 'not_attempted', 0],
  ]);
  expect(asked).toEqual(['shard:shard1', [{ made: null }]]);
  expect(shown(await run({ canary: 'shard1', afterCanary: afterCanary(true), parallel: 2 }))).toEqual([
    ['control', 'skipped', 0],
    ['shard:shard0', 'done', SHARD.length + 2],
    ['shard:shard1', 'skipped', 0],
    ['shard:shard2', 'done', SHARD.length + 2],
  ]);
  await expect(run({ canary: 'shard9' })).rejects.toMatchObject({ code: 'unknown_shard' });
});

it('tells how far it is', async () => {
  const told: string[] = [];
  await run({
    parallel: 3,
    progress: ({ finished, total, result }) => told.push(`${finished}/${total} ${result.state}`),
  });
  expect(told).toEqual(['1/4 done', '2/4 done', '3/4 done', '4/4 done']);
});

it('starts no further target once one has failed, and lets what runs come to its end', async () => {
  await cluster.query('create table things (id text)', [], name(urls[1]!));
  const { targets } = (await run({ parallel: 2 }).catch((error: unknown) => error)) as MigrationFailed;
  expect(targets.map(({ state }) => state).slice(0, 2)).toEqual(['done', 'failed']);
  expect(targets[2]!.state).toBe('done');
});

it('takes globs of compiled files, and refuses those that find nothing', async () => {
  const directory = await createScratchDirectory({});
  try {
    const text = (table: string) =>
      `export class Create${table}1700000000009 { async up(r) { await r.query('create table ${table} ()'); } async down() {} }`;
    await writeFile(join(directory, 'a.mjs'), text('found'));
    await writeFile(join(directory, 'a.d.ts'), 'export {};');
    await writeFile(join(directory, 'helper.mjs'), 'export const help = 1;');
    const settings = (shards: string[]) =>
      resolveOptions({
        database: { shards: [{ name: 'only', primaryUrl: urls[1]! }] },
        migrations: { shards },
      });
    const results = await migrate(settings([join(directory, '*')]), () => undefined);
    expect(results.map(({ names }) => names)).toEqual([[...SHARD, 'Createfound1700000000009']]);
    await expect(
      migrate(settings([join(directory, '*.js'), join(directory, 'help*')]), () => undefined),
    ).rejects.toMatchObject({
      code: 'invalid_options',
      message: `migrations.shards: ${directory}/*.js: no file matches, seen from the working directory; ${directory}/help*: no file exports a migration, seen from the working directory`,
    });
    await writeFile(
      join(directory, 'broken.mjs'),
      `throw new Error('no answer of postgres://app:hush@db/x');`,
    );
    await expect(migrate(settings([join(directory, 'bro*')]), () => undefined)).rejects.toMatchObject({
      code: 'invalid_options',
      message: `a file of "${directory}/bro*" cannot be loaded: no answer of [hidden]`,
    });
  } finally {
    await removeScratchDirectory(directory);
  }
});

it('refuses names without an order, and names that are there twice', async () => {
  const named = (name: string) =>
    class implements MigrationInterface {
      name = name;
      async up(): Promise<void> {}
      async down(): Promise<void> {}
    };
  const migrations = { shards: [named('Tidy'), named('A1700000000001'), named('A1700000000001')] };
  const settings = resolveOptions({ database: { primaryUrl: urls[0]! }, migrations });
  await expect(migrate(settings, () => undefined)).rejects.toThrow(
    'migrations.shards: Tidy: the name must end with a timestamp of 13 digits; A1700000000001: is there twice',
  );
});
