import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { withClient } from '../../support/admin-query.js';
import { Shardctl } from '../../support/shardctl.js';
import { Mapped, NOTHING, SHRUNK, TWO, UNMOVED, type Part } from './mapped.js';

const shardctl = Shardctl.attach();
let maps: Mapped;
beforeAll(async () => {
  maps = await Mapped.create(shardctl);
});
beforeEach(() => maps.forget());

const FIRST = ['1: shard0 0 0-8191', '1: shard1 1 8192-16383'];
const SECOND = [...FIRST, '2: shard0 0 0-8000', '2: shard1 1 8001-16383'];
const CHANGED = `the configured slot map differs from version 1:
  slots 8001-8191 from shard0 to shard1, WITHOUT a verified move
`;

it('records the first map', async () => {
  expect(await maps.accept(TWO, '--yes')).toEqual({
    code: 0,
    out: 'no slot map is recorded yet:\n  added: shard0\n  added: shard1\nrecorded as version 1\n',
    err: '',
  });
  expect(await maps.recorded()).toEqual(FIRST);
  expect(await maps.accept(TWO)).toEqual({
    code: 0,
    out: 'version 1 is what is configured: nothing to accept\n',
    err: '',
  });
  const { out } = await maps.accept(TWO, '--yes', '--json');
  expect(JSON.parse(out)).toEqual({ version: 1, recorded: false, refused: null, changes: NOTHING });
  expect(await maps.recorded()).toEqual(FIRST);
});

it('shows what changed and records nothing until somebody says so; then applications boot', async () => {
  await maps.boot(TWO);
  await expect(maps.boot(SHRUNK)).rejects.toMatchObject({ code: 'slot_map_changed' });
  expect(await maps.accept(SHRUNK)).toEqual({
    code: 1,
    out: CHANGED,
    err: 'shardctl: nothing was recorded; to record it say --yes\n',
  });
  const { code, out } = await maps.accept(SHRUNK, '--json');
  expect({ code, out: JSON.parse(out) as unknown }).toEqual({
    code: 1,
    out: {
      version: 1,
      recorded: false,
      refused: 'not_confirmed',
      changes: { ...NOTHING, slots: [UNMOVED] },
    },
  });
  expect(await maps.recorded()).toEqual(FIRST);

  expect(await maps.accept(SHRUNK, '--yes')).toEqual({
    code: 0,
    out: `${CHANGED}recorded as version 2\n`,
    err: '',
  });
  expect(await maps.recorded()).toEqual(SECOND);
  await maps.boot(SHRUNK);
  await expect(maps.boot(TWO)).rejects.toMatchObject({ code: 'slot_map_changed' });
});

it('says the same as JSON, and which slots verified moves have brought', async () => {
  await maps.boot(TWO);
  await maps.place.query(
    'control',
    `insert into _sharding_slot_moves (source, destination, group_id, slots) values ('shard0', 'shard1', 0, '8001-8100')`,
  );
  const { code, out, err } = await maps.accept(SHRUNK, '--yes', '--json');
  expect({ code, out: JSON.parse(out) as unknown, err }).toEqual({
    code: 0,
    out: {
      version: 2,
      recorded: true,
      refused: null,
      changes: {
        ...NOTHING,
        slots: [
          { ...UNMOVED, slots: '8101-8191' },
          { ...UNMOVED, slots: '8001-8100', verified: true },
        ],
      },
    },
    err: '',
  });
});

it('records an automatic split over other shards, which no boot does', async () => {
  await maps.boot([{}, {}]);
  await expect(maps.boot([{}, {}, {}])).rejects.toMatchObject({ code: 'slot_map_changed' });
  expect(await maps.accept([{}, {}, {}], '--yes')).toEqual({
    code: 0,
    out: `the configured slot map differs from version 1:
  added: shard2
  slots 5462-8191 from shard0 to shard1, WITHOUT a verified move
  slots 10923-16383 from shard1 to shard2, WITHOUT a verified move
recorded as version 2
`,
    err: '',
  });
  await maps.boot([{}, {}, {}]);
});

it('lets no identifier change unless that is said too', async () => {
  await maps.boot(TWO);
  const swapped = [
    { ...TWO[0], member: 1 },
    { ...TWO[1], member: 0 },
  ];
  const told = `the configured slot map differs from version 1:
  identifier of shard0: (0,0) before, (0,1) now
  identifier of shard1: (0,1) before, (0,0) now
  identifier (0,1) from shard1 to shard0: ids of one name the other
  identifier (0,0) from shard0 to shard1: ids of one name the other
`;
  const refused = {
    code: 1,
    out: told,
    err: 'shardctl: nothing was recorded: ids carry the identifiers for ever. Give the old ones back, or say --identifiers if no id was made\n',
  };
  expect(await maps.accept(swapped)).toEqual(refused);
  expect(await maps.accept(swapped, '--yes')).toEqual(refused);
  expect(JSON.parse((await maps.accept(swapped, '--yes', '--json')).out)).toMatchObject({
    version: 1,
    recorded: false,
    refused: 'identifiers',
  });
  expect(await maps.accept(swapped, '--identifiers')).toMatchObject({
    code: 1,
    err: 'shardctl: nothing was recorded; to record it say --yes\n',
  });
  expect(await maps.recorded()).toEqual(FIRST);
  expect(await maps.accept(swapped, '--identifiers', '--yes')).toEqual({
    code: 0,
    out: `${told}recorded as version 2\n`,
    err: '',
  });
  await maps.boot(swapped);
});

it('gives no identifier of a shard that is gone to another one, but a shard another name', async () => {
  const third: Part = { slots: [] };
  await maps.boot([...TWO, third]);
  await maps.boot(TWO);
  expect(await maps.accept([...TWO, { ...third, name: 'other' }], '--yes')).toMatchObject({
    code: 1,
    out: expect.stringContaining('  identifier (0,2) from shard2 to other: ids of one name the other\n'),
  });
  expect(await maps.accept([TWO[0]!, { ...TWO[1], name: 'renamed' }], '--yes')).toEqual({
    code: 0,
    out: `the configured slot map differs from version 2:
  added: renamed
  removed: shard1
  identifier (0,1) from shard1 to renamed: renamed
  slots 8192-16383 from shard1 to renamed, WITHOUT a verified move
recorded as version 3
`,
    err: '',
  });
});

it('records nothing when another has recorded a version since it was shown', async () => {
  await maps.boot(TWO);
  await withClient(maps.place.control, async (client) => {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(hashtextextended('_sharding_map', 0))`);
    const accepting = maps.accept(SHRUNK, '--yes');
    await waitFor(
        async () =>
          (await maps.place.query('control', `select 1 from pg_locks where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`)).length === 1,
        { what: 'the one that accepts to wait' },
      ); // prettier-ignore
    await client.query(
      `insert into _sharding_map (version, shard_name, group_id, member, slots, auto_split) values (2, 'x', 0, 0, '0-16383', false)`,
    );
    await client.query('commit');
    expect(await accepting).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: version 2 was recorded meanwhile; look again at what changed\n',
    });
  });
  expect(await maps.recorded()).toEqual([...FIRST, '2: x 0 0-16383']);
});

it('does not wait for ever for another that records', async () => {
  await withClient(maps.place.control, async (client) => {
    await client.query(`select pg_advisory_lock(hashtextextended('_sharding_map', 0))`);
    expect(await maps.accept(TWO, '--yes')).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: another process records a slot map and does not end: try again later\n',
    });
  });
});
