import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { TestCluster } from '@test/support';
import { Shardctl } from '../../support/shardctl.js';
import { OFFLINE, tomlOf } from './deployed.js';
import { Mapped, NOTHING, SHRUNK, TWO, UNMOVED } from './mapped.js';

const shardctl = Shardctl.attach();
let maps: Mapped;
beforeAll(async () => {
  maps = await Mapped.create(shardctl);
});
beforeEach(() => maps.forget());

it('tells each version, oldest first, and what changed in it', async () => {
  expect(await maps.run(TWO, 'history')).toEqual({
    code: 0,
    out: 'no slot map is recorded yet: the first boot does so\n',
    err: '',
  });
  await maps.boot([{}, {}]);
  await maps.accept(SHRUNK, '--yes');
  await maps.accept([...SHRUNK, { slots: [] }], '--yes');
  const { code, out, err } = await maps.run(TWO, 'history');
  expect({ code, out: out.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'), err }).toEqual({
    code: 0,
    out: `version 1, recorded at TIME
shard   group  member  slots       split
shard0      0       0  0-8191      automatic
shard1      0       1  8192-16383  automatic

version 2, recorded at TIME
shard   group  member  slots       split
shard0      0       0  0-8000      declared
shard1      0       1  8001-16383  declared
what changed:
  slots 8001-8191 from shard0 to shard1, WITHOUT a verified move

version 3, recorded at TIME
shard   group  member  slots       split
shard0      0       0  0-8000      declared
shard1      0       1  8001-16383  declared
shard2      0       2  drained     declared
what changed:
  added: shard2
`,
    err: '',
  });
});

it('says the same as JSON, the newest ones', async () => {
  for (const parts of [TWO, SHRUNK, [...SHRUNK, { slots: [] }]]) await maps.accept(parts, '--yes');
  const { code, out, err } = await maps.run(TWO, 'history', '--json', '--limit', '2');
  const shard = (name: string, member: number, ...ranges: string[]) => ({
    shard: name,
    group: 0,
    member,
    ranges,
    auto_split: false,
  });
  const shards = [shard('shard0', 0, '0-8000'), shard('shard1', 1, '8001-16383')];
  const recorded_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect({ code, out: JSON.parse(out) as unknown, err }).toEqual({
    code: 0,
    out: {
      versions: [
        { version: 2, recorded_at, shards, changes: { ...NOTHING, slots: [UNMOVED] } },
        {
          version: 3,
          recorded_at,
          shards: [...shards, shard('shard2', 2)],
          changes: { ...NOTHING, added: ['shard2'] },
        },
      ],
      more: true,
    },
    err: '{"note":"there are 1 older ones; see --limit"}\n',
  });
});
it.each([['history'], ['accept', '--yes']])(
  'map %s needs a control database, that it answers, and its tables',
  async (...args) => {
    expect(await shardctl.run(['map', ...args], { toml: tomlOf({ shards: maps.place.shards }) })).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: this needs a control database: set [database] primary_url, or SHARDING_DATABASE__PRIMARY_URL\n',
    });
    expect(await shardctl.run(['map', ...args], { toml: OFFLINE })).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: the control database cannot be asked: nothing listens there: is the server running? (ECONNREFUSED)\n',
    });
    const control = await TestCluster.attach().createDatabase({ label: 'empty' });
    expect(
      await shardctl.run(['map', ...args], { toml: tomlOf({ control, shards: maps.place.shards }) }),
    ).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: the control database has no slot map: run the migrations (shardctl migrate, or migrate())\n',
    });
  },
);

it('accepts no map where no shards are declared', async () => {
  const toml = `[database]\nprimary_url = "${maps.place.control}"`;
  expect(await shardctl.run(['map', 'accept', '--yes'], { toml })).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: no shards are declared: there is no slot map to accept\n',
  });
});

it.each([
  [['map'], "missing required argument 'what' (see shardctl --help)"],
  [['map', 'forget'], 'behind map stands history or accept (see shardctl --help)'],
  [['map', 'history', '--yes'], '--yes and --identifiers do not belong to map history (see shardctl --help)'],
  [['map', 'accept', '--limit', '3'], '--limit does not belong to map accept (see shardctl --help)'],
])('%j is wrong usage', async (args, message) => {
  expect(await shardctl.run(args, { toml: OFFLINE })).toEqual({
    code: 2,
    out: '',
    err: `shardctl: ${message}\n`,
  });
});

it('leaves no connection behind', async () => {
  await maps.accept(TWO, '--yes');
  expect(await TestCluster.attach().connections(maps.place.control)).toBe(0);
});
