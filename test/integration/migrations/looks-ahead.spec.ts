import { beforeEach, expect, it } from '@jest/globals';
import { MigrationFailed, migrate, resolveOptions } from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { TargetResult } from '@app/sharding';

class CreateNotes1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table notes (id bigint generated always as identity, body text)');
  }
  async down(): Promise<void> {}
}

const SHARDS = 4;

const cluster = TestCluster.attach();
let urls: string[];
let lines: string[];

/** All are migrated. */
beforeEach(async () => {
  urls = [];
  for (let shard = 0; shard < SHARDS; shard++)
    urls.push(await cluster.createDatabase({ label: `ahead${shard}` }));
  await run();
});

const run = (shards: readonly string[] = urls) => {
  lines = [];
  const database = {
    shards: shards.map((primaryUrl, index) => ({ name: `s${index}`, primaryUrl })),
    connectTimeoutMs: 1000,
  };
  const settings = resolveOptions({ database, migrations: { shards: [CreateNotes1700000000001] } });
  return migrate(settings, (line) => lines.push(line));
};

const shown = (results: readonly TargetResult[]) =>
  results.map(({ target, state, interleaved }) => `${target} ${state} ${interleaved.join()}`.trimEnd());

/** The next id that a table gives, modulo the stride. */
const residue = async (url: string, table: string) =>
  Number((await runOnce(url, `insert into ${table} default values returning id % 1024 as id`))[0]?.['id']);

it('aligns what was made by hand between shards that are up to date, and tells all in their order', async () => {
  await runOnce(urls[2]!, 'create table made_by_hand (id bigint generated always as identity)');
  await runOnce(urls[2]!, 'create table also_serial (id bigserial)');
  expect(shown(await run())).toEqual([
    'shard:s0 skipped',
    'shard:s1 skipped',
    'shard:s2 done public.also_serial.id,public.made_by_hand.id',
    'shard:s3 skipped',
  ]);
  expect(lines).toEqual([
    'target=shard:s0 up to date',
    'target=shard:s1 up to date',
    'target=shard:s2 interleaved the ids of public.also_serial.id, public.made_by_hand.id',
    'target=shard:s3 up to date',
  ]);
  expect(await residue(urls[2]!, 'made_by_hand')).toBe(3);
  expect(shown(await run())).toEqual(urls.map((_url, index) => `shard:s${index} skipped`));
});

it('aligns a sequence that was set back to the ids of another shard', async () => {
  await runOnce(urls[3]!, 'alter sequence notes_id_seq restart with 5');
  expect(shown(await run()).slice(2)).toEqual(['shard:s2 skipped', 'shard:s3 done public.notes.id']);
  expect(await residue(urls[3]!, 'notes')).toBe(4);
});

it('fails where one does not answer, and attempts none behind it', async () => {
  await runOnce(urls[3]!, 'create table made_by_hand (id bigint generated always as identity)');
  const gone = new URL(urls[2]!);
  gone.pathname = '/no_such_database';
  const thrown: unknown = await run([urls[0]!, urls[1]!, gone.href, urls[3]!]).catch(
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(MigrationFailed);
  expect(shown((thrown as MigrationFailed).targets)).toEqual([
    'shard:s0 skipped',
    'shard:s1 skipped',
    'shard:s2 failed',
    'shard:s3 not_attempted',
  ]);
  for (const url of urls) await expectNoConnections(url);
  expect(await residue(urls[3]!, 'made_by_hand')).toBe(1); // untouched
});
