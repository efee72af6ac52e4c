import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ShardedUuid, ShardIdentifier, SlotUuid, slotOf } from '@app/routing';
import { Shards } from '@app/sharding';
import { TestCluster } from '@test/support';
import { bootApp } from '../../support/deployment.js';
import { Shardctl } from '../../support/shardctl.js';
import { deployed, OFFLINE, tomlOf, type Deployed } from './deployed.js';

let shardctl: Shardctl;
beforeAll(async () => {
  shardctl = await Shardctl.build();
});
afterAll(() => shardctl.dispose());

/** `place` decides the fields that are not the usual ones. */
const routed = (place: Record<string, unknown>) => ({
  kind: 'text',
  group: 0,
  member: null,
  reason: 'hash',
  note: null,
  also: [],
  created_at: null,
  error: null,
  ...place,
});

const GROUPS = `[[database.shards]]
name = "eu0"
primary_url = "postgres://app@127.0.0.1:1/eu0"
group = 1
`;

describe('by the slot map', () => {
  it('says slot, group, shard and why', async () => {
    expect(await shardctl.run(['route', 'acme', 'globex', '42'], { toml: OFFLINE })).toEqual({
      code: 0,
      err: '',
      out: [
        'key      slot  group  shard   why',
        'acme     7695      0  shard0  hash',
        'globex  12846      0  shard1  hash',
        '42       4643      0  shard0  hash',
        '',
      ].join('\n'),
    });
  });

  it('says the same as JSON', async () => {
    const { code, out, err } = await shardctl.run(['route', 'acme', 'globex', '--json'], { toml: OFFLINE });
    expect({ code, err, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      err: '',
      out: {
        directory: { state: 'off', error: null },
        routes: [
          routed({ key: 'acme', slot: 7695, shard: 'shard0' }),
          routed({ key: 'globex', slot: 12846, shard: 'shard1' }),
        ],
      },
    });
  });

  it('hashes integers as integers, negative and beyond 53 bits too', async () => {
    const keys = ['42', '-7', '9007199254740993'];
    const { code, out } = await shardctl.run(['route', '--int', ...keys, '--json'], { toml: OFFLINE });
    const { routes } = JSON.parse(out) as { routes: { key: string; kind: string; slot: number }[] };
    expect(code).toBe(0);
    expect(routes.map(({ key, kind, slot }) => [key, kind, slot])).toEqual(
      keys.map((key) => [key, 'integer', slotOf(BigInt(key))]),
    );
  });

  it('routes in the group that is asked, and says that it assumes group 0 where there are several', async () => {
    const toml = OFFLINE.replace('[tenancy]', `${GROUPS}[tenancy]`);
    expect(await shardctl.run(['route', 'acme', '--group', '1'], { toml })).toEqual({
      code: 0,
      err: '',
      out: 'key   slot  group  shard  why\nacme  7695      1  eu0    hash\n',
    });
    expect(await shardctl.run(['route', 'acme'], { toml })).toEqual({
      code: 0,
      err: 'shardctl: group 0 is assumed where nothing says another one; an application’s groupOf is not known here, see --group\n',
      out: 'key   slot  group  shard   why\nacme  7695      0  shard0  hash\n',
    });
  });

  it('names a group without shards, exit code 1', async () => {
    expect(await shardctl.run(['route', 'acme', '--group', '9'], { toml: OFFLINE })).toEqual({
      code: 1,
      err: '',
      out: 'key   slot  group  shard  why\nacme  7695      9  -      hash; error: no shard is in group 9; groups: 0\n',
    });
  });

  it('lets nothing that a key holds reach the terminal', async () => {
    const { out } = await shardctl.run(['route', 'a\u001b[31mb\u202ec'], { toml: OFFLINE });
    expect(out).toContain('a\\x1b[31mb\\u202ec');
  });

  it('refuses what is no integer', async () => {
    expect(await shardctl.run(['route', '--int', 'x'], { toml: OFFLINE })).toEqual({
      code: 2,
      out: '',
      err: 'shardctl: --int takes whole numbers, not "x" (see shardctl --help)\n',
    });
  });
});

describe('by the bits of an id', () => {
  it('reads the shard of a ShardedUuid and the slot of a SlotUuid', async () => {
    const sharded = ShardedUuid.generate(ShardIdentifier.of(0, 1));
    const slot = SlotUuid.generate('acme');
    const { code, out } = await shardctl.run(['route', '--uuid', sharded, slot.toUpperCase(), '--json'], {
      toml: OFFLINE,
    });
    const { routes } = JSON.parse(out) as { routes: unknown[] };
    expect(code).toBe(0);
    expect(routes).toEqual([
      routed({
        key: sharded,
        kind: 'sharded_uuid',
        slot: null,
        member: 1,
        shard: 'shard1',
        reason: 'id',
        created_at: ShardedUuid.timestamp(sharded).toISOString(),
      }),
      routed({
        key: slot,
        kind: 'slot_uuid',
        slot: 7695,
        shard: 'shard0',
        reason: 'id',
        created_at: SlotUuid.timestamp(slot).toISOString(),
      }),
    ]);
  });

  it('names an identifier that no shard has, exit code 1', async () => {
    const id = '01890a5d-ac96-774b-8fff-000000000000';
    expect(await shardctl.run(['route', '--uuid', id], { toml: OFFLINE })).toEqual({
      code: 1,
      err: '',
      out: [
        'key                                   slot  group  shard  why',
        `${id}  -        63  -      id bits (63,63); of 2023-06-30T03:34:18.518Z; error: no shard has the identifier (63,63); shardctl topology lists those there are`,
        '',
      ].join('\n'),
    });
  });

  it.each(['550e8400-e29b-41d4-a716-446655440000', 'acme', '01890a5d-ac96-8001-8000-000000000000'])(
    'refuses %s, which routes nowhere',
    async (id) => {
      expect(await shardctl.run(['route', '--uuid', id], { toml: OFFLINE })).toEqual({
        code: 2,
        out: '',
        err: `shardctl: --uuid takes ids that route themselves, a ShardedUuid (version 7) or a SlotUuid (version 8), not "${id}"; without --uuid a UUID is a routing key like any other text (see shardctl --help)\n`,
      });
    },
  );
});

describe('with the directory', () => {
  let place: Deployed;
  beforeAll(async () => {
    place = await deployed(2, 'directory_shard_router = true');
  });

  it('asks it for pins and groups, and tells what it ignores', async () => {
    const toml = place.toml.replace('[tenancy]', `${GROUPS}[tenancy]`);
    const insert = `insert into _sharding_directory (routing_key, shard_name, group_id, note) values ($1, $2, $3, 'sql')`;
    await place.query('control', insert, ['whale', 'shard1', null]);
    await place.query('control', insert, ['placed', null, 1]);
    await place.query('control', insert, ['leaves', 'eu0', 0]);
    await place.query('control', insert, ['ghost', 'shard9', null]);
    const keys = ['whale', 'placed', 'leaves', 'ghost', 'plain'];
    const { code, out, err } = await shardctl.run(['route', ...keys, '--json'], { toml });
    expect({ code, err, out: JSON.parse(out) as unknown }).toEqual({
      code: 1,
      err: 'shardctl: group 0 is assumed where nothing says another one; an application’s groupOf is not known here, see --group\n',
      out: {
        directory: { state: 'asked', error: null },
        routes: [
          routed({ key: 'whale', slot: slotOf('whale'), shard: 'shard1', reason: 'pin' }),
          routed({ key: 'placed', slot: slotOf('placed'), group: 1, shard: 'eu0', reason: 'placed' }),
          routed({
            key: 'leaves',
            slot: slotOf('leaves'),
            shard: 'shard1',
            note: 'its pin to eu0 leaves group 0 and is ignored',
          }),
          routed({
            key: 'ghost',
            slot: slotOf('ghost'),
            shard: null,
            reason: 'pin',
            error: {
              code: 'unknown_shard',
              message: 'unknown shard "shard9"; known shards: shard0, shard1, eu0',
            },
          }),
          routed({ key: 'plain', slot: slotOf('plain'), shard: 'shard1' }),
        ],
      },
    });
  });

  it('tells to which shards else the rows of a slot id may be pinned', async () => {
    await place.query(
      'control',
      `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'shard1')`,
    );
    const id = SlotUuid.generate('acme');
    const { code, out } = await shardctl.run(['route', '--uuid', id], { toml: place.toml });
    expect({ code, out }).toEqual({
      code: 0,
      out: [
        'key                                   slot  group  shard   why',
        `${id}  7695      0  shard0  id bits; of ${SlotUuid.timestamp(id).toISOString()}; pinned keys of the slot: also shard1`,
        '',
      ].join('\n'),
    });
  });

  it('agrees with an application for every kind of row', async () => {
    const fresh = await deployed(2, 'directory_shard_router = true');
    const keys = Array.from({ length: 60 }, (_unused, index) => `tenant-${index}`);
    for (const [index, key] of keys.entries()) {
      const [shard, group] =
        [
          ['shard0', null],
          ['shard1', null],
          ['shard1', 0],
          [null, 0],
        ][index % 5] ?? [];
      if (index % 5 === 4) continue;
      const sql = 'insert into _sharding_directory (routing_key, shard_name, group_id) values ($1, $2, $3)';
      await fresh.query('control', sql, [key, shard, group]);
    }
    const app = await bootApp(fresh.options({ directoryShardRouter: true }));
    try {
      const shards = app.get(Shards);
      const wanted = await Promise.all(keys.map(async (key) => (await shards.shardFor(key)).name));
      const { out } = await shardctl.run(['route', ...keys, '--json'], { toml: fresh.toml });
      const { routes } = JSON.parse(out) as { routes: { shard: string }[] };
      expect(routes.map(({ shard }) => shard)).toEqual(wanted);
    } finally {
      await app.close();
    }
  });

  it('tells when the control database does not answer, exit code 1', async () => {
    const toml = tomlOf(
      { control: 'postgres://app:hush@127.0.0.1:1/control', shards: place.shards },
      'directory_shard_router = true',
    );
    expect(await shardctl.run(['route', 'acme'], { toml })).toEqual({
      code: 1,
      out: 'key   slot  group  shard   why\nacme  7695      0  shard0  hash\n',
      err: 'shardctl: the directory could not be asked (ECONNREFUSED: nothing listens there: is the server running?); pins and groups in it are not considered\n',
    });
  });

  it('tells when the control database has no directory', async () => {
    const control = await TestCluster.attach().createDatabase({ label: 'empty' });
    const toml = tomlOf({ control, shards: place.shards }, 'directory_shard_router = true');
    const { code, err } = await shardctl.run(['route', 'acme'], { toml });
    expect({ code, err }).toEqual({
      code: 1,
      err: 'shardctl: the directory could not be asked (migrations_pending: the control database has no directory: run the migrations); pins and groups in it are not considered\n',
    });
  });

  it('refuses a key that the directory cannot hold', async () => {
    const { code, out } = await shardctl.run(['route', 'ä'.repeat(128), '--json'], { toml: place.toml });
    const { routes } = JSON.parse(out) as { routes: { shard: unknown; error: unknown }[] };
    expect({ code, shard: routes[0]?.shard, error: routes[0]?.error }).toEqual({
      code: 1,
      shard: null,
      error: {
        code: 'invalid_routing_key',
        message: 'a routing key of the directory has at most 255 bytes in UTF-8',
      },
    });
  });

  it('asks nobody for integers', async () => {
    const toml = tomlOf(
      { control: 'postgres://app@127.0.0.1:1/c', shards: place.shards },
      'directory_shard_router = true',
    );
    const { code, err } = await shardctl.run(['route', '--int', '42'], { toml });
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });
});
