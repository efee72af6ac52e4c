import { beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  SHARD_MIGRATIONS,
  migrate,
  resolveOptions,
  type MigrateOptions,
  type MigrationsOptions,
} from '@app/sharding';
import { TestCluster, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateOrders1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table "My Orders" (id bigint generated always as identity primary key, body text)`,
    );
    await runner.query('create table lines (id bigserial primary key, body text)');
    await runner.query('create table old_lines (id serial primary key, body text)');
    await runner.query('create table by_uuid (id uuid primary key)');
  }
  async down(): Promise<void> {}
}

const FRAMEWORK = SHARD_MIGRATIONS.map(({ name }) => name).join(', ');
const cluster = TestCluster.attach();
let control: string;
let urls: string[];
let lines: string[];

beforeEach(async () => {
  lines = [];
  control = await cluster.createDatabase({ label: 'control' });
  urls = await Promise.all([0, 1, 2].map((index) => cluster.createDatabase({ label: `shard${index}` })));
});

interface Given extends MigrationsOptions {
  readonly names?: readonly string[];
  readonly without?: 'control';
}

async function run(
  { names = ['a', 'b', 'c'], without, ...migrations }: Given = {},
  options: MigrateOptions = {},
) {
  const database = {
    ...(without !== 'control' && { primaryUrl: control }),
    shards: names.map((name) => ({ name, primaryUrl: urls['abc'.indexOf(name)]! })),
  };
  const settings = resolveOptions({
    database,
    migrations: { shards: [CreateOrders1700000000001], ...migrations },
  });
  return migrate(settings, (line) => lines.push(line), options);
}

/** The ids that so many new rows get. */
async function ids(url: string, table: string, rows: number): Promise<number[]> {
  const sql = `insert into ${table} (body) select '' from generate_series(1, $1) returning id::int as id`;
  return (await runOnce(url, sql, [rows])).map(({ id }) => Number(id));
}

const ordinals = async (url: string) =>
  (await runOnce(url, 'select shard_name, ordinal, stride from _sharding_identities order by ordinal')).map(
    (row) => Object.values(row).join(' '),
  );

it('no two shards ever give the same id, from the first row on', async () => {
  await run();
  for (const table of ['"My Orders"', 'lines']) {
    expect(await Promise.all(urls.map((url) => ids(url, table, 3)))).toEqual([
      [1, 1025, 2049],
      [2, 1026, 2050],
      [3, 1027, 2051],
    ]);
  }
  expect(lines.slice(1, 3)).toEqual([
    'target=shard:a public.old_lines.id is integer: its ids are not interleaved',
    `target=shard:a applied ${FRAMEWORK}, CreateOrders1700000000001`,
  ]);
  expect(await ordinals(control)).toEqual(['a 0 1024', 'b 1 1024', 'c 2 1024']);
  expect(await ordinals(urls[1]!)).toEqual(['b 1 1024']);
  expect(await ids(urls[1]!, 'old_lines', 2)).toEqual([1, 2]);
});

it('begins again at its own ids when a table is truncated', async () => {
  await run();
  await ids(urls[1]!, 'lines', 3);
  await runOnce(urls[1]!, 'truncate lines restart identity');
  expect(await ids(urls[1]!, 'lines', 2)).toEqual([2, 1026]);
});

describe('a table that has rows already', () => {
  beforeEach(async () => {
    await run({ interleaveIdentities: false });
    await ids(urls[1]!, 'lines', 5);
    await ids(urls[2]!, 'lines', 5);
    await runOnce(urls[2]!, 'insert into lines (id) values (2000)');
    lines = [];
  });

  it('goes on above its largest id and above its sequence, never lower', async () => {
    await runOnce(urls[0]!, `select setval('lines_id_seq', 5000)`);
    expect((await run()).map(({ state, interleaved }) => [state, ...interleaved])).toEqual([
      ['skipped'],
      ...['a', 'b', 'c'].map(() => ['done', 'public."My Orders".id', 'public.lines.id']),
    ]);
    expect(lines).toContain('target=shard:b interleaved the ids of public."My Orders".id, public.lines.id');
    expect(await Promise.all(urls.map((url) => ids(url, 'lines', 2)))).toEqual([
      [5121, 6145],
      [1026, 2050],
      [2051, 3075],
    ]);
    expect((await run()).map(({ state }) => state)).toEqual(['skipped', 'skipped', 'skipped', 'skipped']);
    expect(await ids(urls[1]!, 'lines', 1)).toEqual([3074]);
  });

  it('waits for those who are writing', async () => {
    const writer = new pg.Client({ connectionString: urls[0]! });
    await writer.connect();
    await writer.query('begin');
    await writer.query(`insert into lines (body) select '' from generate_series(1, 1500)`);
    const aligning = run({}, { lockTimeoutMs: 50, lockAttempts: 100 });
    const gave = async () => lines.some((line) => line.includes('got no lock'));
    await waitFor(gave, { what: 'the migrator to meet the writer', timeoutMs: 15_000 });
    await writer.query('commit');
    await writer.end();
    await aligning;
    expect(await ids(urls[0]!, 'lines', 1)).toEqual([2049]);
    expect(
      lines.some((line) => line.startsWith('target=shard:a the ids of public.lines.id got no lock')),
    ).toBe(true);
  });
});

it('an ordinal is given once: not to the shard that comes for one that went', async () => {
  await run({ names: ['a', 'b'] });
  await run({ names: ['a', 'c'] });
  expect(await ordinals(control)).toEqual(['a 0 1024', 'b 1 1024', 'c 2 1024']);
  expect(await ids(urls[2]!, 'lines', 1)).toEqual([3]);
});

it('the order of the shards may change', async () => {
  await run();
  lines = [];
  await run({ names: ['c', 'a', 'b'] });
  expect(lines.every((line) => line.endsWith('up to date'))).toBe(true);
});

it('the stride is permanent', async () => {
  await run({ identityStride: 16 });
  expect(await ids(urls[1]!, 'lines', 2)).toEqual([2, 18]);
  await expect(run({ identityStride: 32 })).rejects.toMatchObject({
    code: 'migration_failed',
    cause: {
      code: 'invalid_options',
      message:
        'identity_stride is 32, and the ids of shard "a" were given in steps of 16: it cannot be changed any more, set it back',
    },
  });
  await expect(run({ names: ['a', 'b', 'c'], identityStride: 2 })).rejects.toMatchObject({
    code: 'migration_failed',
  });
});

describe('without a control database', () => {
  it('each shard keeps its own ordinal, and a new one gets the next', async () => {
    await run({ names: ['b', 'c'], without: 'control' });
    await run({ names: ['a', 'b', 'c'], without: 'control' });
    expect(await Promise.all(urls.map(ordinals))).toEqual([['a 2 1024'], ['b 0 1024'], ['c 1 1024']]);
  });

  it('none is given while a shard cannot be asked for its own', async () => {
    await cluster.dropDatabase(urls[1]!);
    await expect(run({ without: 'control' }, { shard: 'c' })).rejects.toMatchObject({
      cause: {
        code: 'shard_unavailable',
        message:
          'shard "c" has no ordinal for its ids yet, and cannot be given one while b cannot be asked for theirs',
      },
    });
  });
});

it('one shard alone needs the tables of the control database', async () => {
  await expect(run({}, { shard: 'b' })).rejects.toMatchObject({ cause: { code: 'migrations_pending' } });
  await run({}, { only: 'control' });
  await run({}, { shard: 'b' });
  expect(await ids(urls[1]!, 'lines', 1)).toEqual([2]);
});
