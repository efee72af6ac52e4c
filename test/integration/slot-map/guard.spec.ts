import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TestCluster, freePort } from '@test/support';
import { databaseOf, withClient } from '../../support/admin-query.js';
import { POOLERS, PooledDeployment } from '../../support/poolers.js';
import { GuardedBoots, type ShardPart } from './guarded-boots.js';
import type { ShardingOptions } from '@app/sharding';
import type { Deployment } from '../../support/deployment.js';

type Database = NonNullable<ShardingOptions['database']>;

let boots: GuardedBoots;
let databases: Deployment;

beforeAll(async () => {
  boots = await GuardedBoots.create();
  databases = boots.databases;
});

beforeEach(() => boots.forget());
afterEach(() => boots.close());

const boot = (parts: readonly ShardPart[], database?: Partial<Database>) => boots.boot(parts, database);
const recorded = () => boots.recorded();

const TWO = [{}, {}];
const PINNED = [{ slots: ['0-8191'] }, { slots: ['8192-16383'] }];
const SHRUNK = [{ slots: ['0-8000'] }, { slots: ['8001-16383'] }];
const SPLIT_OF_TWO = ['1: shard0 (0,0) 0-8191 auto', '1: shard1 (0,1) 8192-16383 auto'];
const CHANGED = { code: 'slot_map_changed' };
const unmoved = (version: number) =>
  [
    `the slot map differs from version ${version} on the control database: slots have other owners, and no verified move of them is recorded.`,
    '  8001-8191 from shard0 to shard1',
    'Rows that were not moved are not found there: move the slots first, or give them back.',
  ].join('\n');

describe('the control database', () => {
  it('remembers the slot map from the first boot on, once', async () => {
    expect(await boot(TWO)).toEqual([]);
    expect(await boot(TWO)).toEqual([]);
    expect(await recorded()).toEqual(SPLIT_OF_TWO);
  });

  it('remembers one map when eight replicas boot at the same time', async () => {
    await Promise.all(Array.from({ length: 8 }, () => boot(TWO, { poolSize: 1 })));
    expect(await recorded()).toEqual(SPLIT_OF_TWO);
  });

  it('remembers one new map when eight replicas bring the same change', async () => {
    await boot(PINNED);
    const drained = [...PINNED, { slots: [] }];
    await Promise.all(Array.from({ length: 8 }, () => boot(drained, { poolSize: 1 })));
    expect((await recorded()).slice(2)).toEqual([
      '2: shard0 (0,0) 0-8191',
      '2: shard1 (0,1) 8192-16383',
      '2: shard2 (0,2) ',
    ]);
  });

  it('makes nobody wait whose map is known', async () => {
    await boot(TWO);
    await withClient(databases.control, async (client) => {
      await client.query(`select pg_advisory_lock(hashtextextended('_sharding_map', 0))`);
      await boot(TWO);
      await expect(boot([...PINNED, { slots: [] }], { connectTimeoutMs: 100 })).resolves.toEqual([
        expect.stringMatching(/^the slot map was not compared: control cannot be asked/),
      ]);
    });
  });
});

describe('under the automatic split', () => {
  it('a shard more stops the boot until the slots are declared as they were', async () => {
    await boot(TWO);
    const refused = boot([{}, {}, {}]);
    await expect(refused).rejects.toMatchObject({
      ...CHANGED,
      message: expect.stringMatching(/ {2}added: shard2\n(.*\n)+ {2}shard0: slots = \["0-8191"\]\n/),
    });
    expect(await recorded()).toEqual(SPLIT_OF_TWO);
    expect(await boot([...PINNED, { slots: [] }])).toEqual([]);
    expect((await recorded()).slice(2)).toEqual([
      '2: shard0 (0,0) 0-8191',
      '2: shard1 (0,1) 8192-16383',
      '2: shard2 (0,2) ',
    ]);
  });

  it.each<[string, ShardPart[]]>([
    ['a shard less', [{}]],
    ['another name', [{}, { name: 'renamed' }]],
    ['another order', [{ name: 'shard1' }, { name: 'shard0' }]],
    ['another group', [{}, { group: 1 }]],
  ])('%s stops the boot', async (_what, parts) => {
    await boot(TWO);
    await expect(boot(parts)).rejects.toMatchObject(CHANGED);
    expect(await recorded()).toEqual(SPLIT_OF_TWO);
  });

  it('declaring the same slots changes nothing', async () => {
    await boot(TWO);
    expect(await boot(PINNED, { slotMapGuard: 'strict' })).toEqual([]);
    expect(await recorded()).toEqual(SPLIT_OF_TWO);
  });
});

describe('declared slots that changed their owner', () => {
  it('are told once, and recorded', async () => {
    await boot(PINNED);
    expect(await boot(SHRUNK)).toEqual([unmoved(1)]);
    expect(await boot(SHRUNK)).toEqual([]);
    expect((await recorded()).slice(2)).toEqual(['2: shard0 (0,0) 0-8000', '2: shard1 (0,1) 8001-16383']);
  });

  it('stop the boot under a strict guard, and are not recorded', async () => {
    await boot(PINNED);
    const before = await recorded();
    await expect(boot(SHRUNK, { slotMapGuard: 'strict' })).rejects.toMatchObject({
      ...CHANGED,
      message: unmoved(1),
    });
    expect(await recorded()).toEqual(before);
  });

  it('are let through after a verified move of them', async () => {
    await boot(PINNED);
    await boots.recordMove('shard0', 'shard1');
    expect(await boot(SHRUNK, { slotMapGuard: 'strict' })).toEqual([]);
    expect(await recorded()).toHaveLength(4);
  });

  it('are not let through by a move of an earlier time', async () => {
    await boots.recordMove('shard0', 'shard1');
    await boot(PINNED);
    expect(await boot(SHRUNK)).toEqual([unmoved(1)]);
  });

  it('with a shard that got another identifier always stop the boot', async () => {
    await boot(PINNED);
    const swapped = [
      { name: 'shard1', slots: ['8192-16383'] },
      { name: 'shard0', slots: ['0-8191'] },
    ];
    await expect(boot(swapped)).rejects.toMatchObject({
      ...CHANGED,
      message: expect.stringContaining('  identifier of shard1: (0,1) before, (0,0) now'),
    });
    const kept = swapped.map((part, index) => ({ ...part, member: 1 - index }));
    expect(await boot(kept)).toEqual([]);
    expect(await recorded()).toHaveLength(2);
  });
});

describe('a map that cannot be compared', () => {
  const primaryUrl = async () => `postgres://127.0.0.1:${await freePort()}/none`;

  it.each<[string, ShardPart[], Partial<Database>]>([
    ['with the automatic split', TWO, {}],
    ['with a strict guard', PINNED, { slotMapGuard: 'strict' }],
  ])('%s stops the boot', async (_what, parts, database) => {
    await expect(boot(parts, { primaryUrl: await primaryUrl(), ...database })).rejects.toMatchObject({
      code: 'shard_unavailable',
      message:
        'the control database cannot be asked for its slot map (ECONNREFUSED, nothing listens there). The automatic split and slot_map_guard = "strict" need it',
    });
  });

  it('is told otherwise', async () => {
    expect(await boot(PINNED, { primaryUrl: await primaryUrl() })).toEqual([
      'the slot map was not compared: control cannot be asked for its slot map (ECONNREFUSED, nothing listens there)',
    ]);
  });

  it('for want of the table asks for the migrations', async () => {
    const empty = await TestCluster.attach().createDatabase({ label: 'empty' });
    await expect(boot(TWO, { primaryUrl: empty })).rejects.toMatchObject({
      code: 'migrations_pending',
      message:
        'the control database has no slot map: run the migrations (shardctl migrate, or migrate()). The automatic split and slot_map_guard = "strict" need it',
    });
    expect(await boot(PINNED, { primaryUrl: empty })).toEqual([
      'the slot map was not compared: control has no slot map: run the migrations (shardctl migrate, or migrate())',
    ]);
  });
});

describe('a role of its own', () => {
  let role: string;
  let primaryUrl: string;

  beforeEach(async () => {
    role = `guarded_${databaseOf(databases.control)}`.slice(0, 63);
    await databases.query('control', `create role ${role} login password 'guarded'`);
    primaryUrl = databases.control.replace(/\/\/[^@]*@/, `//${role}:guarded@`);
  });

  afterEach(async () => {
    await databases.query('control', `drop owned by ${role}`);
    await databases.query('control', `drop role ${role}`);
  });

  it('needs rights to record a map, and the error names them', async () => {
    const grant = 'grant select, insert on _sharding_map, and select on _sharding_slot_moves';
    await expect(boot(TWO, { primaryUrl })).rejects.toMatchObject({
      code: 'shard_unavailable',
      message: `the control database refuses its slot map to this role: ${grant}. The automatic split and slot_map_guard = "strict" need it`,
    });
    await databases.query('control', `grant select, insert on _sharding_map to ${role}`);
    await databases.query('control', `grant select on _sharding_slot_moves to ${role}`);
    await boot(PINNED, { primaryUrl });
    expect(await boot(SHRUNK, { primaryUrl })).toEqual([unmoved(1)]);
  });

  it('needs only to read a map that it knows', async () => {
    await boot(TWO);
    await databases.query('control', `grant select on _sharding_map to ${role}`);
    expect(await boot(TWO, { primaryUrl })).toEqual([]);
  });
});

it.each(POOLERS)('%s in transaction mode will do', async (_name, start) => {
  const place = await PooledDeployment.start(start);
  try {
    await place.boot();
    await place.boot();
    const more = { shards: [{ name: 'other', primaryUrl: place.pooler.url(place.direct) }] };
    await expect(place.boot(more)).rejects.toMatchObject(CHANGED);
  } finally {
    await place.dispose();
  }
});

describe('without a control database', () => {
  it('the automatic split is told that nobody remembers it', async () => {
    expect(await boots.bootAlone(TWO)).toEqual([
      'the slots follow from the number and order of the shards, and without a control database nobody notices when these change: declare the slots of each shard',
    ]);
  });

  it('declared slots are fine', async () => {
    expect(await boots.bootAlone(PINNED)).toEqual([]);
  });
});
