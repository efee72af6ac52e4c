import { beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  MigrationFailed,
  migrate,
  migrateDown,
  resolveOptions,
  type MigrateDownOptions,
  type TargetResult,
} from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateSettings1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table settings (id int)');
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table settings');
  }
}

const steps = [1, 2, 3].map((step) => {
  const name = `Step170000000000${step}`;
  return class implements MigrationInterface {
    name = name;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`create table step${step} (id int)`);
    }
    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`drop table step${step}`);
    }
  };
});
const [ONE = '', TWO = '', THREE = ''] = [1, 2, 3].map((step) => `Step170000000000${step}`);

const cluster = TestCluster.attach();
let urls: string[];
let lines: string[];

beforeEach(async () => {
  urls = [];
  lines = [];
  for (const label of ['control', 'shard0', 'shard1']) urls.push(await cluster.createDatabase({ label }));
});

function settings(shards: (new () => MigrationInterface)[] = steps, profile?: string) {
  const [primaryUrl = '', ...rest] = urls;
  const places = rest.map((url, index) => ({ name: `shard${index}`, primaryUrl: url }));
  return resolveOptions({
    database: { primaryUrl, shards: places },
    migrations: { control: [CreateSettings1700000000001], shards },
    profile,
  });
}

const up = (shards = steps) => migrate(settings(shards), () => undefined);
const down = (options: MigrateDownOptions = {}, of = settings()) =>
  migrateDown(of, (line) => lines.push(line), options);
const shown = (results: readonly TargetResult[]) =>
  results.map(({ target, state, names }) => [target, state, ...names]);
const tables = async (url: string) =>
  (
    await runOnce(url, `select relname as name from pg_class where relname ~ '^(step|settings)' order by 1`)
  ).map(({ name }) => name);

it('takes the last one of each target back, shards first, in reverse order', async () => {
  await up();
  expect(shown(await down())).toEqual([
    ['shard:shard1', 'done', THREE],
    ['shard:shard0', 'done', THREE],
    ['control', 'done', 'CreateSettings1700000000001'],
  ]);
  expect(lines).toEqual([
    `target=shard:shard1 reverted ${THREE}`,
    `target=shard:shard0 reverted ${THREE}`,
    'target=control reverted CreateSettings1700000000001',
  ]);
  expect(await Promise.all(urls.map(tables))).toEqual([[], ['step1', 'step2'], ['step1', 'step2']]);
  expect(await runOnce(urls[1]!, 'select name from migrations order by id')).toEqual([
    { name: ONE },
    { name: TWO },
  ]);
  await up();
  expect(await Promise.all(urls.map(tables))).toEqual([
    ['settings'],
    ...Array<string[]>(2).fill(['step1', 'step2', 'step3']),
  ]);
  for (const url of urls) await expectNoConnections(url);
});

it('goes down to a name, which stays, on the targets that have it', async () => {
  await up();
  expect(shown(await down({ to: ONE }))).toEqual([
    ['shard:shard1', 'done', THREE, TWO],
    ['shard:shard0', 'done', THREE, TWO],
  ]);
  expect(shown(await down({ to: ONE }))).toEqual([
    ['shard:shard1', 'skipped'],
    ['shard:shard0', 'skipped'],
  ]);
  expect(lines.at(-1)).toBe('target=shard:shard0 nothing to revert');
  expect(await tables(urls[0]!)).toEqual(['settings']);
});

describe('to a name, the same call again', () => {
  const TO_ONE = { to: ONE };

  it('goes on where it has failed, and blames what has failed', async () => {
    await up();
    await runOnce(urls[1]!, 'create view needs as select id from step2');
    const failed = (await down(TO_ONE).catch((thrown: unknown) => thrown)) as MigrationFailed;
    expect(failed.targets.map(({ state, names, failure }) => [state, names, failure?.migration])).toEqual([
      ['done', [THREE, TWO], undefined],
      ['failed', [THREE], TWO],
    ]);
    expect(failed.message).toBe(
      'reverting the migrations of shard:shard0 failed; mend the cause and run the same again, which goes on from there',
    );
    await runOnce(urls[1]!, 'drop view needs');
    expect(shown(await down(TO_ONE))).toEqual([
      ['shard:shard1', 'skipped'],
      ['shard:shard0', 'done', TWO],
    ]);
    expect(await Promise.all(urls.map(tables))).toEqual([['settings'], ['step1'], ['step1']]);
  });

  it('finds nothing to do while another one does it', async () => {
    await up();
    const [first, second] = await Promise.all([down(TO_ONE), down(TO_ONE)]);
    const states = [...first, ...second].map(({ target, state }) => `${target} ${state}`);
    expect(states.toSorted()).toEqual(
      ['0', '1'].flatMap((shard) => [`shard:shard${shard} done`, `shard:shard${shard} skipped`]),
    );
  });

  it('is refused where the shards have come there by other ways', async () => {
    await up();
    await runOnce(urls[2]!, `delete from migrations where name = '${TWO}'`);
    await expect(down(TO_ONE)).rejects.toMatchObject({
      message: `nothing was reverted: the shards are not in the same state: shard:shard0 would revert ${THREE}, ${TWO}; shard:shard1 would revert ${THREE}; migrate them to one state first, or choose a shard`,
    });
  });
});

it('blames no migration for what is none', async () => {
  await up();
  const other = new pg.Client({ connectionString: urls[2]! });
  await other.connect();
  await other.query(`select pg_advisory_lock(hashtextextended('nestjs-sharding.migrations', 0))`);
  const error = (await down({ waitMs: 100 }).catch((thrown: unknown) => thrown)) as MigrationFailed;
  expect(error.targets[0]!.failure).toMatchObject({ code: 'deadline_exceeded' });
  expect(error.targets[0]!.failure).not.toHaveProperty('migration');
  await other.end();
});

it('takes one shard alone', async () => {
  await up();
  expect(shown(await down({ shard: 'shard0' }))).toEqual([['shard:shard0', 'done', THREE]]);
});

it('refuses shards in different states, before anything is touched', async () => {
  await up([steps[0]!, steps[1]!]);
  await migrate(settings(), () => undefined, { shard: 'shard1' });
  await expect(down()).rejects.toMatchObject({
    code: 'invalid_options',
    message: `nothing was reverted: the shards are not in the same state: shard:shard0 would revert ${TWO}; shard:shard1 would revert ${THREE}; migrate them to one state first, or choose a shard`,
  });
  expect(lines).toEqual([]);
  expect(await Promise.all(urls.map(tables))).toEqual([
    ['settings'],
    ['step1', 'step2'],
    ['step1', 'step2', 'step3'],
  ]);
});

it('refuses what it does not know, what is not applied, and who does not answer', async () => {
  await up();
  const refused = async (problem: string, options: MigrateDownOptions = {}, of = settings()) =>
    expect(down(options, of)).rejects.toMatchObject({ code: 'invalid_options', message: problem });
  await refused(
    `nothing was reverted: shard:shard0: ${THREE} is applied there and not in the code; shard:shard1: ${THREE} is applied there and not in the code`,
    {},
    settings([steps[0]!, steps[1]!]),
  );
  await refused('no target has a migration "Nobody1700000000001" in the code', { to: 'Nobody1700000000001' });
  await runOnce(urls[2]!, `delete from migrations where name = '${TWO}'`);
  await refused(`nothing was reverted: shard:shard1: ${TWO} is not applied there`, { to: TWO });
  await cluster.dropDatabase(urls[1]!);
  await refused('nothing was reverted: shard:shard0: shard "shard0" cannot be reached (3D000)');
  expect(await tables(urls[0]!)).toEqual(['settings']);
});

it('stops at the first failure', async () => {
  await up();
  await runOnce(urls[1]!, 'create view needs as select id from step3');
  const error = (await down().catch((thrown: unknown) => thrown)) as MigrationFailed;
  expect(error).toBeInstanceOf(MigrationFailed);
  expect(
    error.targets.map(({ target, state, failure }) => [target, state, failure?.code, failure?.migration]),
  ).toEqual([
    ['shard:shard1', 'done', undefined, undefined],
    ['shard:shard0', 'failed', '2BP01', THREE],
    ['control', 'not_attempted', undefined, undefined],
  ]);
  expect(lines.at(-1)).toBe('target=control not attempted');
});

it('wants a word more under the profile of production', async () => {
  await up();
  for (const profile of ['production', 'prod']) {
    await expect(down({}, settings(steps, profile))).rejects.toMatchObject({
      code: 'invalid_options',
      message: `the profile is ${profile}: migrations are not taken back there unless that is confirmed (production: 'confirmed', --yes-i-mean-production)`,
    });
  }
  expect(await down({ production: 'confirmed' }, settings(steps, 'production'))).toHaveLength(3);
});
