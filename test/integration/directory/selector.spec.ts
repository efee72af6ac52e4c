import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module } from '@nestjs/common';
import { ShardedUuid, ShardIdentifier, ShardSelector } from '@app/routing';
import { Pins, Shards, type ShardingRootOptions } from '@app/sharding';
import { Grouped } from './groups.js';
import { placesOf } from './placed.js';
import type { Placed } from './placed.js';

interface Attributes {
  readonly country: string;
}

/** Germany in group 7; all its shards have member 0. */
@Injectable()
class ByCountry extends ShardSelector<Attributes> {
  override groupOf({ country }: Attributes): number {
    return country === 'DE' ? 7 : 0;
  }

  override identifierOf(attributes: Attributes): ShardIdentifier {
    return ShardIdentifier.of(this.groupOf(attributes), 0);
  }
}

/** What an application makes of it, in a module of its own. */
@Injectable()
class AccountIds {
  constructor(@Inject(ShardSelector) private readonly selector: ByCountry) {}

  next(country: string): string {
    return ShardedUuid.generate(this.selector.identifierOf({ country }));
  }
}

@Module({ providers: [AccountIds] })
class AccountsModule {}

let grouped: Grouped;
let placed: Placed;

beforeAll(async () => {
  grouped = await Grouped.create(3);
  ({ placed } = grouped);
});
afterEach(() => placed.closeApps());

describe('ShardSelector', () => {
  it.each<[string, ShardingRootOptions]>([
    ['an instance', { shardSelector: new ByCountry() }],
    ['useClass', { shardSelector: { useClass: ByCountry } }],
  ])(
    'is injected under its name, given as %s, and its identifiers are embedded in ids',
    async (_form, setup) => {
      const app = await placed.boot(
        { database: grouped.database(), ...setup },
        { imports: [AccountsModule] },
      );
      const ids = app.get(AccountIds, { strict: false });
      const shards = app.get(Shards);
      const places = ['DE', 'MX'].map((country) => ShardedUuid.identifier(ids.next(country)));
      expect(places.map(String)).toEqual(['(7,0)', '(0,0)']);
      const names = await Promise.all(
        places.map(async (place) => (await shards.shardsOfPlace(place))[0]!.name),
      );
      expect(names).toEqual(['eu0', 'shard0']);
      await app.get(Pins).place('acme', { attributes: { country: 'DE' } });
      expect(await placesOf(app, 'acme')).toEqual(['eu0']);
      expect(app.get(ShardSelector)).toBeInstanceOf(ByCountry);
    },
  );

  it('fails the boot of whoever injects one that is not there, and of nobody else', async () => {
    await expect(
      placed.boot({ database: grouped.database() }, { imports: [AccountsModule] }),
    ).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining('@Inject(ShardSelector) needs one: give forRoot({ shardSelector })'),
    });
    await placed.boot({ database: grouped.database() });
  });
});
