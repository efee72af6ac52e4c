import { beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { TestCluster } from '@test/support';
import { Shardctl } from '../../support/shardctl.js';
import { deployed, OFFLINE, tomlOf, type Deployed } from './deployed.js';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

const shardctl = Shardctl.attach();
let place: Deployed;
const EU = `[[database.shards]]\nname = "eu0"\nprimary_url = "postgres://app@127.0.0.1:1/eu0"\ngroup = 1\n`;

beforeAll(async () => {});
beforeEach(async () => {
  const made = await deployed(2, 'directory_shard_router = true');
  place = { ...made, toml: made.toml.replace('[tenancy]', `${EU}[tenancy]`) };
});

const run = (args: readonly string[], toml = place.toml) => shardctl.run(args, { toml });
const rows = () =>
  place.query(
    'control',
    'select routing_key, shard_name, group_id, note from _sharding_directory order by 1',
  );
const log = () =>
  place.query(
    'control',
    'select who, routing_key, from_shard, to_shard, why from _sharding_placement_log order by id',
  );

it('pins a key, lists it and takes the pin away, signing each change', async () => {
  expect(await run(['pin', 'acme', 'shard1', '--note', 'too big', '--by', 'ann'])).toEqual({
    code: 0,
    out: 'pinned "acme" to shard1; rows that it has elsewhere were not moved\n',
    err: '',
  });
  expect(await rows()).toEqual([
    { routing_key: 'acme', shard_name: 'shard1', group_id: null, note: 'too big' },
  ]);

  const listed = await run(['pins']);
  expect({ ...listed, out: listed.out.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME') }).toEqual({
    code: 0,
    out: 'key   shard   group  note     updated at\nacme  shard1  -      too big  TIME\n',
    err: '',
  });

  expect(await run(['unpin', 'acme', '--by', 'ben'])).toEqual({
    code: 0,
    out: 'unpinned "acme"; rows on the shard it was pinned to were not moved\n',
    err: '',
  });
  expect(await run(['pins'])).toEqual({ code: 0, out: 'no pins\n', err: '' });
  expect(await log()).toEqual([
    {
      who: expect.stringContaining('ann'),
      routing_key: 'acme',
      from_shard: null,
      to_shard: 'shard1',
      why: 'too big',
    },
    {
      who: expect.stringContaining('ben'),
      routing_key: 'acme',
      from_shard: 'shard1',
      to_shard: null,
      why: null,
    },
  ]);
});

it('says the same as JSON', async () => {
  const json = async (args: string[]) => JSON.parse((await run([...args, '--json'])).out) as unknown;
  expect(await json(['pin', 'acme', 'shard1', '--by', 'ann'])).toEqual({
    key: 'acme',
    shard: 'shard1',
    note: null,
    by: 'ann',
  });
  expect(await json(['place', 'globex', '--group', '1', '--by', 'ann', '--note', 'law'])).toEqual({
    key: 'globex',
    group: 1,
    note: 'law',
    by: 'ann',
  });
  const row = { shard: null, group: null, note: null, updated_at: expect.any(String) as unknown };
  expect(await json(['pins'])).toEqual({
    pins: [
      { ...row, key: 'acme', shard: 'shard1' },
      { ...row, key: 'globex', group: 1, note: 'law' },
    ],
    next_after: null,
  });
  expect(await json(['unpin', 'acme', '--by', 'ann'])).toEqual({
    key: 'acme',
    removed: true,
    note: null,
    by: 'ann',
  });
});

it('lists page by page and says how to go on', async () => {
  await place.query(
    'control',
    `insert into _sharding_directory (routing_key, shard_name) select 't' || n, 'shard0' from generate_series(1, 5) n`,
  );
  const first = await run(['pins', '--limit', '2', '--json']);
  expect(JSON.parse(first.err)).toEqual({ note: 'there may be more: --after "t2"' });
  expect(JSON.parse(first.out)).toMatchObject({ pins: [{ key: 't1' }, { key: 't2' }], next_after: 't2' });
  const last = await run(['pins', '--limit', '10', '--after', 't2', '--json']);
  expect(last.err).toBe('');
  expect(JSON.parse(last.out)).toMatchObject({
    pins: [{ key: 't3' }, { key: 't4' }, { key: 't5' }],
    next_after: null,
  });
});

it('lets no data leave its group', async () => {
  expect(await run(['pin', 'acme', 'eu0'])).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: the key is not allowed to live there: shard "eu0" is in group 1, where nothing has placed the key\n',
  });
  expect(await run(['place', 'acme', '--group', '1'])).toEqual({
    code: 0,
    out: 'placed "acme" in group 1\n',
    err: '',
  });
  expect((await run(['pin', 'acme', 'eu0'])).code).toBe(0);
  expect(await run(['pin', 'acme', 'shard0'])).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: the key is not allowed to live there: shard "shard0" is in group 0, where nothing has placed the key\n',
  });
  expect((await run(['place', 'acme', '--group', '0'])).code).toBe(1);
  expect(await rows()).toEqual([{ routing_key: 'acme', shard_name: 'eu0', group_id: 1, note: null }]);
});

it('knows an unknown shard, a group without shards, and a pin that was not there', async () => {
  expect(await run(['pin', 'acme', 'shard7'])).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: unknown shard "shard7"; known shards: shard0, shard1, eu0\n',
  });
  expect(await run(['place', 'acme', '--group', '7'])).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: no shard is in group 7; groups: 0, 1\n',
  });
  expect(await run(['unpin', 'acme'])).toEqual({ code: 1, out: '"acme" had no pin\n', err: '' });
});

it('says when nobody obeys the directory', async () => {
  const { code, err } = await run(
    ['pin', 'acme', 'shard1'],
    tomlOf({ control: place.control, shards: place.shards }),
  );
  expect({ code, err }).toEqual({
    code: 0,
    err: 'shardctl: directory_shard_router is off in this configuration: the change has no effect unless a router in code asks the directory\n',
  });
});

it.each([['pins'], ['pin', 'acme', 'shard0'], ['unpin', 'acme'], ['place', 'acme', '--group', '0']])(
  '%s needs a control database, that it answers, and its tables',
  async (...args) => {
    expect(await run(args, tomlOf({ shards: place.shards }))).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: this needs a control database: set [database] primary_url, or SHARDING_DATABASE__PRIMARY_URL\n',
    });
    expect(await run(args, OFFLINE)).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: the control database cannot be reached (ECONNREFUSED)\n',
    });
    const control = await TestCluster.attach().createDatabase({ label: 'empty' });
    expect(await run(args, tomlOf({ control, shards: place.shards }))).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: the control database has no directory: run the migrations (shardctl migrate, or migrate())\n',
    });
  },
);

it('says that the role may not use the directory', async () => {
  const role = `nobody_${process.pid}`;
  await TestCluster.attach().query(`create role ${role} login password 'secret'`);
  const url = new URL(place.control);
  url.username = role;
  const said = `shardctl: this role may not use the directory: grant it select on the _sharding_ tables of control, and what it changes them by\n`;
  expect(await run(['pins'], tomlOf({ control: url.href, shards: place.shards }))).toEqual({
    code: 1,
    out: '',
    err: said,
  });
});

it('leaves no connection behind', async () => {
  await run(['pins']);
  expect(await TestCluster.attach().connections(place.control)).toBe(0);
});
