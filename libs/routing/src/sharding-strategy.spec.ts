import { describe, expect, it } from '@jest/globals';
import {
  createTopology,
  EmbeddedBitsStrategy,
  MAX_GROUP,
  MAX_MEMBER,
  NoShardingStrategy,
  ShardedUuid,
  shardOfPlace,
  ShardIdentifier,
  slotOf,
  SlotStrategy,
  SlotUuid,
  type GroupOf,
  type ShardedId,
  type ShardingStrategy,
} from './index.js';

class Wallet {
  id: ShardedId<Wallet> | undefined;
  tenantId: string | undefined;
}

const shard = ShardIdentifier.of(2, 5);
const V4 = 'f47ac10b-58cc-4372-a567-0e02b2c3d479';
const V7 = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f';
const invalidId = expect.objectContaining({ code: 'invalid_id', status: 400 });

describe('NoShardingStrategy', () => {
  it('answers everything with (0,0), the only shard, whatever the ids are', () => {
    const strategy: ShardingStrategy<Wallet> = new NoShardingStrategy();
    const only = ShardIdentifier.DEFAULT;
    expect(strategy.routesById).toBe(true);
    expect([strategy.ofEntity(new Wallet()), strategy.ofId('7'), strategy.ofQuery?.({})]).toEqual([
      only,
      only,
      only,
    ]);
    expect(shardOfPlace(createTopology([{ name: 'main' }]), only).name).toBe('main');
  });
});

describe('EmbeddedBitsStrategy', () => {
  const strategy = new EmbeddedBitsStrategy<Wallet>();

  it('reads the shard in the id of an entity, in an id, and in a condition that names one id', () => {
    const id = ShardedUuid.generate<Wallet>(shard);
    expect(strategy.routesById).toBe(true);
    expect(strategy.ofEntity(Object.assign(new Wallet(), { id }))).toEqual(shard);
    expect(strategy.ofId(id)).toEqual(shard);
    expect(strategy.ofQuery({ id, tenantId: 'acme' })).toEqual(shard);
  });

  it('reads another property where it is told to', () => {
    const custom = new EmbeddedBitsStrategy<{ code: string; id: number }>({ id: 'code' });
    const code = ShardedUuid.generate(shard);
    expect(custom.ofEntity({ code, id: 1 })).toEqual(shard);
    expect(custom.ofQuery({ code })).toEqual(shard);
    expect(custom.ofQuery({ id: code })).toBeUndefined();
  });

  it('round-trips each of the 16,384 identifiers, and only configured ones resolve', () => {
    const topology = createTopology([{ name: 'shard0' }, { name: 'eu', group: 200, member: 63 }]);
    let same = 0;
    const found: string[] = [];
    for (let group = 0; group <= MAX_GROUP; group++) {
      for (let member = 0; member <= MAX_MEMBER; member++) {
        const identifier = ShardIdentifier.of(group, member);
        const read = strategy.ofId(ShardedUuid.generate(identifier));
        if (read.equals(identifier)) same++;
        try {
          found.push(shardOfPlace(topology, read).name);
        } catch (error) {
          if ((error as { code?: string }).code !== 'unregistered_shard') throw error;
        }
      }
    }
    expect([same, found]).toEqual([16_384, ['shard0', 'eu']]);
  });

  it('has no place for an entity without id yet', () => {
    expect(strategy.ofEntity(new Wallet())).toBeUndefined();
    expect(strategy.ofEntity({ id: null } as unknown as Wallet)).toBeUndefined();
  });

  it.each([[V4], [SlotUuid.generate('acme')], ['7'], [''], [7], [{}]])(
    'refuses the id %p, never sending it to a default',
    (id) => {
      expect(() => strategy.ofId(id as string)).toThrow(invalidId);
      expect(() => strategy.ofEntity({ id } as unknown as Wallet)).toThrow(invalidId);
    },
  );

  it('reads any UUID of version 7: that is why only an entity that declares it comes here', () => {
    expect(strategy.ofId(V7)).toEqual(ShardIdentifier.of(99, 4));
  });

  it('takes nothing that a condition only inherits', () => {
    expect(strategy.ofQuery(Object.create({ id: ShardedUuid.generate(shard) }))).toBeUndefined();
  });

  it('does not answer a condition with an operator, with alternatives, or without the id', () => {
    const id = ShardedUuid.generate(shard);
    const conditions = [
      { id: { type: 'in', value: [id] } },
      [{ id }, { id }],
      {},
      { id: undefined },
      null,
      7,
      'id',
    ];
    expect(conditions.map((where) => strategy.ofQuery(where))).toEqual(conditions.map(() => undefined));
    expect(() => strategy.ofQuery({ id: V4 })).toThrow(invalidId);
  });
});

describe('SlotStrategy by id', () => {
  const strategy = new SlotStrategy<Wallet>();
  const place = { group: 3, slot: 12_345 };

  it('reads the slot in the id of an entity, in an id, and in a condition that names one id', () => {
    const id = SlotUuid.generate<Wallet>(place);
    expect(strategy.routesById).toBe(true);
    expect(strategy.ofEntity({ id, tenantId: 'acme' })).toEqual(place);
    expect(strategy.ofId(id)).toEqual(place);
    expect(strategy.ofQuery({ id })).toEqual(place);
    expect(new SlotStrategy<{ code: string }>({ id: 'code' }).ofEntity({ code: id })).toEqual(place);
  });

  it('leads the id of a key to the shard of that key, before and after its slot has moved', () => {
    const id = SlotUuid.generate('acme');
    const found = [
      createTopology([{ name: 'a' }, { name: 'b' }]),
      createTopology([{ name: 'a' }, { name: 'b' }, { name: 'c' }]),
      createTopology([{ name: 'c' }]),
    ].map((topology) => [shardOfPlace(topology, strategy.ofId(id)!), topology.shardOf('acme')]);
    for (const [byId, byKey] of found) expect(byId).toBe(byKey);
  });

  it.each([[V4], [V7], [ShardedUuid.generate(shard)], ['acme'], [7]])('refuses the id %p', (id) => {
    expect(() => strategy.ofId(id as string)).toThrow(invalidId);
    expect(() => strategy.ofEntity({ id } as unknown as Wallet)).toThrow(invalidId);
  });

  it('has no place for an entity without id yet, nor for a condition without one id', () => {
    expect(strategy.ofEntity(new Wallet())).toBeUndefined();
    expect([
      strategy.ofQuery({ tenantId: 'acme' }),
      strategy.ofQuery([{}]),
      strategy.ofQuery(undefined),
    ]).toEqual([undefined, undefined, undefined]);
  });
});

describe('SlotStrategy by key', () => {
  const strategy = new SlotStrategy<Wallet>({ key: 'tenantId' });
  const acme = { group: 0, slot: slotOf('acme'), key: 'acme' };

  it('takes the slot of the key of an entity, or of a condition that names one', () => {
    expect(strategy.ofEntity({ id: undefined, tenantId: 'acme' })).toEqual(acme);
    expect(strategy.ofQuery({ tenantId: 'acme', balance: 0 })).toEqual(acme);
    expect(strategy.ofQuery({ tenantId: 42 })).toEqual({ group: 0, slot: slotOf(42), key: 42 });
  });

  it('cannot answer by id, and says so', () => {
    expect(strategy.routesById).toBe(false);
    expect(strategy.ofId(SlotUuid.generate('acme'))).toBeUndefined();
  });

  it('puts a key into the group that a rule names, or 0', () => {
    const groupOf: GroupOf = (key) => (key === 'acme' ? 4 : undefined);
    const grouped = new SlotStrategy<Wallet>({ key: 'tenantId', groupOf });
    expect(grouped.ofQuery({ tenantId: 'acme' })).toEqual({ ...acme, group: 4 });
    expect(grouped.ofQuery({ tenantId: 'hooli' })?.group).toBe(0);
    const wrong = new SlotStrategy<Wallet>({ key: 'tenantId', groupOf: () => 256 });
    expect(() => wrong.ofQuery({ tenantId: 'acme' })).toThrow(
      expect.objectContaining({ code: 'out_of_topology' }),
    );
  });

  it('has no place without key, and refuses a key that is none', () => {
    expect(strategy.ofEntity(new Wallet())).toBeUndefined();
    const conditions = [{}, { tenantId: { type: 'in' } }, [{ tenantId: 'acme' }], { tenantId: null }];
    expect(conditions.map((where) => strategy.ofQuery(where))).toEqual(conditions.map(() => undefined));
    const refused = expect.objectContaining({ code: 'invalid_routing_key' });
    expect(() => strategy.ofEntity({ id: undefined, tenantId: '\ud800' })).toThrow(refused);
    expect(() => strategy.ofEntity({ tenantId: {} } as unknown as Wallet)).toThrow(refused);
  });

  it('names a property that the entity has', () => {
    // @ts-expect-error a wallet has no such property
    expect(new SlotStrategy<Wallet>({ key: 'tenant' }).routesById).toBe(false);
    // @ts-expect-error nor this one
    expect(new EmbeddedBitsStrategy<Wallet>({ id: 'uuid' }).routesById).toBe(true);
  });
});

describe("a strategy of the user's own", () => {
  interface Customer {
    readonly country: string;
  }

  it('may answer later, and by what it likes', async () => {
    const strategy: ShardingStrategy<Customer, number> = {
      routesById: true,
      ofEntity: async ({ country }) => ShardIdentifier.of(country === 'MX' ? 1 : 0, 0),
      ofId: (id) => ({ group: 0, slot: id % 16_384 }),
    };
    expect(await strategy.ofEntity({ country: 'MX' })).toEqual(ShardIdentifier.of(1, 0));
    expect(await strategy.ofId(16_385)).toEqual({ group: 0, slot: 1 });
    expect(strategy.ofQuery).toBeUndefined();
  });

  it('may be one of those given, for any entity', () => {
    const strategies: ShardingStrategy<Wallet>[] = [
      new NoShardingStrategy(),
      new EmbeddedBitsStrategy(),
      new SlotStrategy(),
      new SlotStrategy({ key: 'tenantId' }),
    ];
    expect(strategies.map(({ routesById }) => routesById)).toEqual([true, true, true, false]);
  });
});
