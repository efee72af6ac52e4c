import { beforeAll, describe, expect, it } from '@jest/globals';
import { SlotUuid, slotOf } from '@app/routing';
import { Shards } from '@app/sharding';
import { TestCluster } from '@test/support';
import { bootApp, optionsOver } from '../../support/deployment.js';
import { Shardctl } from '../../support/shardctl.js';
import { deployed, GROUPS, tomlOf, type Deployed } from './deployed.js';
import { routed } from './routed.js';
import type { ShardingOptions } from '@app/sharding';

const shardctl = Shardctl.attach();

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
      err: `${JSON.stringify({ note: 'group 0 is assumed where nothing says another one; an application’s groupOf is not known here, see --group' })}\n`,
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
              code: 'invalid_pin',
              message: `the directory's row of routing key "ghost" names shard "shard9", which is not configured: correct the row`,
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
    const kinds = [
      ['shard0', null],
      ['shard1', null],
      ['shard1', 0],
      [null, 0],
      [null, 1],
      ['eu0', null],
      ['eu0', 0],
      ['eu0', 1],
      ['ghost', null],
      ['shard0', 7],
      [null, 7],
    ] as const;
    const fresh = await deployed(2, 'directory_shard_router = true');
    const keys = Array.from({ length: 4 * (kinds.length + 1) }, (_unused, index) => `tenant-${index}`);
    for (const [index, key] of keys.entries()) {
      const kind = kinds[index % (kinds.length + 1)];
      const sql = 'insert into _sharding_directory (routing_key, shard_name, group_id) values ($1, $2, $3)';
      if (kind) await fresh.query('control', sql, [key, ...kind]);
    }
    const { database } = optionsOver(fresh, { directoryShardRouter: true }) as {
      database: { shards: object[] };
    };
    const eu0 = { name: 'eu0', primaryUrl: 'postgres://app@127.0.0.1:1/eu0', group: 1 };
    const app = await bootApp({
      database: { ...database, shards: [...database.shards, eu0] },
    } as ShardingOptions);
    try {
      const shardFor = (key: string) => app.get(Shards).shardFor(key);
      const wanted = await Promise.all(
        keys.map((key) =>
          shardFor(key).then(
            ({ name }) => name,
            (error: { code: string }) => error.code,
          ),
        ),
      );
      const config = fresh.toml.replace('[tenancy]', `${GROUPS}[tenancy]`);
      const { out } = await shardctl.run(['route', ...keys, '--json'], { toml: config });
      const { routes } = JSON.parse(out) as {
        routes: { shard: string | null; error: { code: string } | null }[];
      };
      expect(routes.map(({ shard, error }) => shard ?? error?.code)).toEqual(wanted);
      expect(new Set(wanted)).toEqual(new Set(['shard0', 'shard1', 'eu0', 'invalid_pin']));
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
      err: 'shardctl: the directory could not be asked (migrations_pending: the control database has no directory: run the migrations (shardctl migrate, or migrate())); pins and groups in it are not considered\n',
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
