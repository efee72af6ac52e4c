import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Global, Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ShardSelector } from '@app/routing';
import { CONTROL_DATA_SOURCE, Pins, ShardingModule, type ShardingRootOptions } from '@app/sharding';
import { byPrefix, Grouped } from './groups.js';
import { placesOf } from './placed.js';
import type { INestApplication } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Placed } from './placed.js';

let grouped: Grouped;
let placed: Placed;

beforeAll(async () => {
  grouped = await Grouped.create(3);
  ({ placed } = grouped);
});
afterEach(async () => {
  await placed.closeApps();
  await placed.clear();
});

const boot = (sharding: ShardingRootOptions = {}) =>
  placed.boot({ database: grouped.database(), ...sharding });
const violation = { code: 'residency_violation' };

describe('place by group', () => {
  it('routes by the group when it returns, to the member that owns the slot', async () => {
    const app = await boot();
    const pins = app.get(Pins);
    expect([await pins.place('acme', { group: 7 }), await pins.place('globex', { group: 0 })]).toEqual([
      7, 0,
    ]);
    expect(await placesOf(app, 'acme', 'globex')).toEqual(['eu0', 'shard1']);
  });

  it('is for ever: again is fine, elsewhere is refused', async () => {
    const app = await boot();
    const pins = app.get(Pins);
    await pins.place('acme', { group: 7, note: 'contract 1' });
    expect(await pins.place('acme', { group: 7 })).toBe(7);
    await expect(pins.place('acme', { group: 9 })).rejects.toMatchObject({
      ...violation,
      message:
        'the key is not allowed to live there: the directory has it elsewhere than in group 9, which is for ever',
    });
    expect([await placesOf(app, 'acme'), await placed.log()]).toEqual([
      ['eu0'],
      ['postgres acme -/-->-/7 contract 1'],
    ]);
  });

  it.each([5, 256, -1, 1.5, undefined, '7'])('refuses a group without shards: %s', async (group) => {
    const pins = (await boot()).get(Pins);
    await expect(pins.place('acme', { group: group as number })).rejects.toMatchObject({
      code: 'out_of_topology',
    });
    expect(await pins.list()).toEqual([]);
  });

  it('refuses what groupOf says otherwise, and what is pinned elsewhere', async () => {
    const pins = (await boot({ groupOf: byPrefix })).get(Pins);
    await expect(pins.place('eu-1', { group: 0 })).rejects.toMatchObject(violation);
    expect(await pins.place('eu-1', { group: 7 })).toBe(7);
    await pins.pin('acme', 'shard1');
    await expect(pins.place('acme', { group: 7 })).rejects.toMatchObject(violation);
    expect(await pins.place('acme', { group: 0 })).toBe(0);
    expect((await pins.list()).map(({ key, shard, group }) => [key, shard, group])).toEqual([
      ['acme', 'shard1', 0],
      ['eu-1', undefined, 7],
    ]);
  });

  it('promises no group that no router keeps', async () => {
    const database = { ...grouped.database(), directoryShardRouter: false };
    const app = await boot({ database, groupOf: byPrefix });
    const pins = app.get(Pins);
    await expect(pins.place('acme', { group: 7 })).rejects.toMatchObject({
      code: 'invalid_topology',
      message:
        'no DirectoryRouter is in use, so that nobody would keep the key in group 7: set [database] directory_shard_router = true, or give a router that asks a DirectoryRouter',
    });
    expect([await pins.list(), await placesOf(app, 'acme')]).toEqual([[], ['shard0']]);
    expect([await pins.place('acme', { group: 0 }), await pins.place('eu-1', { group: 7 })]).toEqual([0, 7]);
    expect(await placesOf(app, 'acme', 'eu-1')).toEqual(['shard0', 'eu0']);
  });

  it('is part of the transaction of its caller', async () => {
    const app = await boot();
    const control = app.get<DataSource>(CONTROL_DATA_SOURCE);
    const failed = control.transaction(async (manager) => {
      await app.get(Pins).place('acme', { group: 7, manager });
      await app.get(Pins).pin('acme', 'eu0', { manager });
      throw new Error('no contract');
    });
    await expect(failed).rejects.toThrow('no contract');
    expect([await app.get(Pins).list(), await placed.log()]).toEqual([[], []]);
  });
});

describe('a pin', () => {
  it('stays inside the group that nobody, the row or groupOf says', async () => {
    const app = await boot({ groupOf: byPrefix });
    const pins = app.get(Pins);
    await pins.place('acme', { group: 9 });
    const refused: [string, string][] = [
      ['globex', 'eu0'],
      ['acme', 'shard0'],
      ['acme', 'eu0'],
      ['eu-1', 'shard0'],
      ['eu-1', 'mx0'],
    ];
    for (const [key, shard] of refused) await expect(pins.pin(key, shard)).rejects.toMatchObject(violation);
    expect((await pins.list()).map(({ key, shard }) => [key, shard])).toEqual([['acme', undefined]]);
    for (const [key, shard] of [
      ['globex', 'shard0'],
      ['acme', 'mx0'],
      ['eu-1', 'eu0'],
    ] as const) {
      await pins.pin(key, shard);
      expect(await placesOf(app, key)).toEqual([shard]);
    }
  });

  it('is refused where the row contradicts groupOf', async () => {
    await placed.row('eu-1', null, 9);
    const pins = (await boot({ groupOf: byPrefix })).get(Pins);
    for (const shard of ['eu0', 'mx0'])
      await expect(pins.pin('eu-1', shard)).rejects.toMatchObject(violation);
  });
});

describe('place by attributes', () => {
  const GROUPS = Symbol('groups');

  @Injectable()
  class ByCountry extends ShardSelector<{ country: string }> {
    constructor(@Inject(GROUPS) private readonly groups: Record<string, number>) {
      super();
    }

    override async groupOf({ country }: { country: string }) {
      const group = this.groups[country];
      if (group === undefined) throw new Error(`no group for ${country}`);
      return group;
    }
  }

  @Module({
    providers: [{ provide: GROUPS, useValue: { DE: 7, MX: 9, US: 0, XX: 5 } }, ByCountry],
    exports: [GROUPS, ByCountry],
  })
  class CountriesModule {}

  @Global()
  @Module({ imports: [CountriesModule], exports: [CountriesModule] })
  class GlobalCountries {}

  const places = async (app: INestApplication) => {
    for (const [key, country] of Object.entries({ a: 'DE', b: 'MX', acme: 'US' })) {
      await app.get(Pins).place(key, { attributes: { country } });
    }
    return placesOf(app, 'a', 'b', 'acme');
  };

  it.each<[string, ShardingRootOptions]>([
    ['an instance', { shardSelector: new ByCountry({ DE: 7, MX: 9, US: 0 }) }],
    ['useClass', { imports: [CountriesModule], shardSelector: { useClass: ByCountry } }],
    ['useExisting', { imports: [GlobalCountries], shardSelector: { useExisting: ByCountry } }],
    [
      'useFactory',
      {
        imports: [CountriesModule],
        shardSelector: {
          inject: [GROUPS],
          useFactory: async (groups: Record<string, number>) => new ByCountry(groups),
        },
      },
    ],
  ])('asks the selector, given as %s', async (_form, sharding) => {
    expect(await places(await boot(sharding))).toEqual(['eu0', 'mx0', 'shard0']);
  });

  it('asks it in forRootAsync too', async () => {
    const options = placed.databases.options(grouped.database());
    @Module({
      imports: [
        ShardingModule.forRootAsync({
          imports: [CountriesModule],
          useFactory: () => options,
          shardSelector: { useClass: ByCountry },
        }),
      ],
    })
    class Root {}
    const app = await NestFactory.create(Root, { logger: false, abortOnError: false });
    try {
      expect(await places(await app.init())).toEqual(['eu0', 'mx0', 'shard0']);
    } finally {
      await app.close();
    }
  });

  it('writes nothing where the selector throws, or names a group without shards', async () => {
    const app = await boot({ imports: [CountriesModule], shardSelector: { useClass: ByCountry } });
    const place = (country: string) => app.get(Pins).place('acme', { attributes: { country } });
    await expect(place('FR')).rejects.toThrow('no group for FR');
    await expect(place('XX')).rejects.toMatchObject({ code: 'out_of_topology' });
    expect(await app.get(Pins).list()).toEqual([]);
  });

  it('needs a selector', async () => {
    const pins = (await boot()).get(Pins);
    await expect(pins.place('acme', { attributes: { country: 'DE' } })).rejects.toMatchObject({
      code: 'invalid_options',
      message: 'place() by attributes needs a ShardSelector: forRoot({ shardSelector })',
    });
    await expect(boot({ shardSelector: { useFactory: () => ({}) as never } })).rejects.toThrow(
      'shardSelector: must be a ShardSelector',
    );
  });
});
