import { describe, expect, it } from '@jest/globals';
import { ShardedUuid, ShardIdentifier, SlotUuid, slotOf } from '@app/routing';
import { Shardctl } from '../../support/shardctl.js';
import { GROUPS, OFFLINE } from './deployed.js';
import { routed } from './routed.js';

const shardctl = Shardctl.attach();

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
        `${id}  -        63  -      id bits (63,63); of 2023-06-30T03:34:18.518Z; error: no shard has the identifier (63,63): group 63 has no shards; configure it, or check where the id comes from`,
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
