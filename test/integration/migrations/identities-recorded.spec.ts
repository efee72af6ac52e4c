import { beforeEach, describe, expect, it } from '@jest/globals';
import { migrate, resolveOptions, type MigrateOptions } from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateNotes1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table notes (id bigint generated always as identity, body text)');
  }
  async down(): Promise<void> {}
}

const cluster = TestCluster.attach();
let control: string;
let urls: string[];

beforeEach(async () => {
  control = await cluster.createDatabase({ label: 'control' });
  urls = await Promise.all([0, 1, 2].map((index) => cluster.createDatabase({ label: `shard${index}` })));
});

/** @param names of the shards; `x=b` is the database of shard b under the name x */
async function run(names: string, without: 'control' | 'nothing', options: MigrateOptions = {}) {
  const shards = names.split(' ').map((text) => {
    const [name = '', place = name] = text.split('=');
    return { name, primaryUrl: urls['abc'.indexOf(place)]! };
  });
  const database = { ...(without !== 'control' && { primaryUrl: control }), shards };
  const settings = resolveOptions({ database, migrations: { shards: [CreateNotes1700000000001] } });
  const lines: string[] = [];
  const results = await migrate(settings, (line) => lines.push(line), options);
  return { lines, states: results.map(({ state }) => state) };
}

const ordinals = async (url = control) =>
  (await runOnce(url, 'select shard_name, ordinal from _sharding_identities order by ordinal')).map((row) =>
    Object.values(row).join(' '),
  );

/** The ids of a new row on each. */
const next = () =>
  Promise.all(
    urls.map(
      async (url) => (await runOnce(url, 'insert into notes default values returning id::int'))[0]?.['id'],
    ),
  );

describe('a control database that comes later', () => {
  it('learns what the shards have recorded, and gives a new one what none of them has', async () => {
    await run('b c', 'control');
    await run('a b c', 'nothing');
    expect(await Promise.all([control, ...urls].map(ordinals))).toEqual([
      ['b 0', 'c 1', 'a 2'],
      ['a 2'],
      ['b 0'],
      ['c 1'],
    ]);
    expect(await next()).toEqual([3, 1, 2]);
    for (const url of [control, ...urls]) await expectNoConnections(url);
  });

  it('learns it also when no shard is new, so that it knows of one that goes', async () => {
    await run('a b', 'control');
    expect((await run('a b', 'nothing')).states).toEqual(['done', 'skipped', 'skipped']);
    expect(await ordinals()).toEqual(['a 0', 'b 1']);
    await run('c a', 'nothing');
    expect(await ordinals()).toEqual(['a 0', 'b 1', 'c 2']);
    expect((await run('c a', 'nothing')).states).toEqual(['skipped', 'skipped', 'skipped']);
  });

  it('gives none while a shard that may have one does not answer', async () => {
    await run('a b', 'control');
    const away = urls[1]!;
    urls[1] = urls[1]!.replace(/\/[^/]*$/, '/gone');
    await run('a b c', 'nothing', { only: 'control' });
    expect(await ordinals()).toEqual(['a 0']);
    await expect(run('a b c', 'nothing', { shard: 'c' })).rejects.toMatchObject({
      cause: {
        code: 'shard_unavailable',
        message:
          'shard "c" has no ordinal for its ids yet, and cannot be given one while b cannot be asked for theirs',
      },
    });
    urls[1] = away;
    await run('a b c', 'nothing', { only: 'control' });
    urls[1] = away.replace(/\/[^/]*$/, '/gone');
    await run('a b c', 'nothing', { shard: 'c' }); // what control knows need not be asked
    expect(await ordinals()).toEqual(['a 0', 'b 1', 'c 2']);
  });
});

it('a control database that was emptied learns it again', async () => {
  await run('a b', 'nothing');
  await runOnce(control, 'truncate _sharding_identities');
  await run('c b a', 'nothing');
  expect(await ordinals()).toEqual(['a 0', 'b 1', 'c 2']);
  expect(await next()).toEqual([1, 2, 3]);
});

it('says what to do where a shard and the control database contradict each other', async () => {
  await run('a b', 'nothing');
  await runOnce(control, `update _sharding_identities set ordinal = 7 where shard_name = 'a'`);
  await expect(run('a b c', 'nothing')).rejects.toMatchObject({
    message: expect.stringContaining('the migrations of control failed'),
    cause: {
      code: 'migration_failed',
      message:
        'shard "a" gives the ids of ordinal 0, as it has recorded, and the control database has ordinal 7 for it. Set the row of _sharding_identities on the control database to 0, and migrate again',
    },
  });
  await runOnce(control, `update _sharding_identities set ordinal = 0 where shard_name = 'a'`);
  await run('a b c', 'nothing');
  expect(await next()).toEqual([1, 2, 3]);
});

describe.each(['control', 'nothing'] as const)('without %s', (without) => {
  it('a shard that is renamed keeps its ids, and nobody gets them', async () => {
    await run('a b', without);
    await run('c x=a b', without);
    expect(await Promise.all(urls.map(ordinals))).toEqual([['x 0'], ['b 1'], ['c 2']]);
    if (without === 'nothing') expect(await ordinals()).toEqual(['x 0', 'b 1', 'c 2']);
    expect(await next()).toEqual([1, 2, 3]);
    expect((await run('c x=a b', without)).states.every((state) => state === 'skipped')).toBe(true);
  });

  it('a shard that is a copy of another gets ids of its own', async () => {
    await run('a', without);
    urls[1] = await cluster.createDatabase({ label: 'copy', template: new URL(urls[0]!).pathname.slice(1) });
    await run('a b', without);
    expect(await ordinals(urls[1])).toEqual(['a 0', 'b 1']);
    await run('c a b', without);
    expect(await next()).toEqual([1, 2, 3]);
  });
});
