import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTopology, movedSlots, ShardIdentifier, SLOT_COUNT, slotOf, Topology } from './index.js';

const ascending = (a: number, b: number) => a - b;

const topology = createTopology([
  { name: 'shard1', slots: ['8192-16383'] },
  { name: 'shard0', slots: ['0-8000', '8002-8191', 8001] },
  { name: 'spare', slots: [], member: 9 },
  { name: 'eu', group: 4 },
]);

describe('Topology', () => {
  it('describes its shards in declaration order', () => {
    expect(topology.shards).toEqual([
      { name: 'shard1', index: 0, group: 0, slotCount: 8192, identifier: ShardIdentifier.of(0, 0) },
      { name: 'shard0', index: 1, group: 0, slotCount: 8192, identifier: ShardIdentifier.of(0, 1) },
      { name: 'spare', index: 2, group: 0, slotCount: 0, identifier: ShardIdentifier.of(0, 9) },
      { name: 'eu', index: 3, group: 4, slotCount: 16384, identifier: ShardIdentifier.of(4, 0) },
    ]);
    expect(topology.groups).toEqual([0, 4]);
  });

  it('lists shards by declaration and groups ascending, however they are mixed', () => {
    const mixed = createTopology([{ name: 'b', group: 2 }, { name: 'a' }, { name: 'c', group: 2 }]);
    expect(mixed.shards.map(({ name, index }) => `${index} ${name}`)).toEqual(['0 b', '1 a', '2 c']);
    expect(mixed.groups).toEqual([0, 2]);
  });

  it('is frozen, with all it hands out', () => {
    expect(topology).toBeInstanceOf(Topology);
    const parts = [
      topology,
      topology.shards,
      topology.groups,
      topology.byName('eu'),
      topology.slotsOfShard('eu'),
      topology.shardsOfGroup(4),
    ];
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true));
    expect(inspect(topology)).not.toContain('postgres');
  });

  it('knows its shards by name', () => {
    expect(topology.byName('eu')).toBe(topology.shards[3]);
    expect([topology.has('eu'), topology.has('nowhere'), topology.has('constructor')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it.each<[unknown, string]>([
    ['x', '"x"'],
    ['constructor', '"constructor"'],
    ['a\u001b[31m\u202e', '"a\\u001b[31m\\u202e"'],
    ['y'.repeat(100), `"${'y'.repeat(60)}..."`],
    [undefined, 'undefined'],
  ])('refuses the unknown name %p, listing the known ones', (name, quoted) => {
    const unknown = expect.objectContaining({
      code: 'unknown_shard',
      message: `unknown shard ${quoted}; known shards: shard1, shard0, spare, eu`,
    });
    expect(() => topology.byName(name as string)).toThrow(unknown);
    expect(() => topology.slotsOfShard(name as string)).toThrow(unknown);
    expect(() => topology.rangesOfShard(name as string)).toThrow(unknown);
    expect(() => topology.ownsKey(name as string, 'acme')).toThrow(unknown);
  });

  it('knows its shards by identifier', () => {
    expect(topology.byIdentifier(0, 9)?.name).toBe('spare');
    expect(topology.byIdentifier(4, 0)?.name).toBe('eu');
    expect(topology.byIdentifier(4, 1)).toBeUndefined();
  });

  it('lists the shards of a group in declaration order, drained ones too', () => {
    expect(topology.shardsOfGroup(0).map(({ name }) => name)).toEqual(['shard1', 'shard0', 'spare']);
    expect(topology.shardsOfGroup(4)).toEqual([topology.byName('eu')]);
    expect([topology.hasGroup(4), topology.hasGroup(3)]).toEqual([true, false]);
    expect(() => topology.shardsOfGroup(3)).toThrow(
      expect.objectContaining({ code: 'out_of_topology', message: 'no shard is in group 3; groups: 0, 4' }),
    );
  });

  it('says which groups split automatically', () => {
    expect([topology.autoSplit, topology.isAutoSplit(), topology.isAutoSplit(4)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(createTopology([{ name: 'a', slots: ['0-16383'] }]).autoSplit).toBe(false);
  });
});

describe('slots', () => {
  it('have an owner in each group', () => {
    expect([8191, 8192].map((slot) => topology.shardOfSlot(slot).name)).toEqual(['shard0', 'shard1']);
    expect(topology.shardOfSlot(0, 4).name).toBe('eu');
  });

  it.each([[-1], [16384], [1.5], [NaN]])('outside the range have none: %p', (slot) => {
    expect(() => topology.shardOfSlot(slot)).toThrow(
      expect.objectContaining({
        code: 'invalid_slot',
        message: `slot ${slot} is out of range (slots are 0..16383)`,
      }),
    );
  });

  it('of a group without shards have none', () => {
    expect(() => topology.shardOfSlot(0, 3)).toThrow(
      expect.objectContaining({ code: 'out_of_topology', message: 'no shard is in group 3; groups: 0, 4' }),
    );
  });

  it('are listed by shard, ascending and in compact form', () => {
    expect(topology.slotsOfShard('shard0')).toEqual(Array.from({ length: 8192 }, (_, slot) => slot));
    expect(topology.rangesOfShard('shard0')).toBe('0-8191');
    expect([topology.slotsOfShard('spare'), topology.rangesOfShard('spare')]).toEqual([[], '']);
    expect(topology.rangesOfShard('eu')).toBe('0-16383');
  });
});

describe('keys', () => {
  it('belong to the owner of their slot', () => {
    expect(topology.slotOf('acme')).toBe(7695);
    expect(topology.shardOf('acme').name).toBe('shard0');
    expect(topology.shardOf('globex').name).toBe('shard1');
    expect(topology.shardOf('globex', 4).name).toBe('eu');
  });

  it('are owned within the group of the shard asked', () => {
    expect(['shard0', 'shard1', 'spare', 'eu'].map((name) => topology.ownsKey(name, 'acme'))).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  it('are partitioned in declaration order, shards without any being absent', () => {
    const parts = topology.partitionByShard(new Set(['acme', 'globex', 'hooli', 'tenant-1']));
    expect([...parts]).toEqual([
      ['shard1', ['globex', 'tenant-1']],
      ['shard0', ['acme', 'hooli']],
    ]);
    expect([...topology.partitionByShard([1, 2], 4)]).toEqual([['eu', [1, 2]]]);
    expect(topology.partitionByShard([])).toEqual(new Map());
  });

  it('that are none are refused', () => {
    const refused = expect.objectContaining({ code: 'invalid_routing_key' });
    expect(() => topology.shardOf(1.5)).toThrow(refused);
    expect(() => topology.partitionByShard(['acme', '\ud800'])).toThrow(refused);
  });

  it('are each in exactly one part', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (keys) => {
        const parts = topology.partitionByShard(keys);
        expect([...parts.values()].flat().toSorted(ascending)).toEqual(keys.toSorted(ascending));
        for (const [name, own] of parts) expect(own.every((key) => topology.ownsKey(name, key))).toBe(true);
      }),
    );
  });
});

describe('movedSlots', () => {
  it('lists the slots with another owner by group and slot', () => {
    const before = createTopology([
      { name: 'a', slots: ['0-9999'] },
      { name: 'b', slots: ['10000-16383'] },
      { name: 'c', group: 1 },
    ]);
    const after = createTopology([
      { name: 'b', slots: ['9999-16383', 5] },
      { name: 'a', slots: ['0-4', '6-9998'] },
      { name: 'd', group: 2 },
    ]);
    expect(movedSlots(before, after)).toEqual([
      { group: 0, slot: 5, from: 'a', to: 'b' },
      { group: 0, slot: 9999, from: 'a', to: 'b' },
    ]);
    expect(movedSlots(before, before)).toEqual([]);
  });

  it('in two groups keeps them apart', () => {
    const before = createTopology([
      { name: 'a' },
      { name: 'x', group: 1, slots: ['0-16383'] },
      { name: 'y', group: 1, slots: [] },
    ]);
    const after = createTopology([
      { name: 'a' },
      { name: 'x', group: 1, slots: ['1-16383'] },
      { name: 'y', group: 1, slots: [0] },
    ]);
    expect(movedSlots(before, after)).toEqual([{ group: 1, slot: 0, from: 'x', to: 'y' }]);
  });

  it('are the only slots whose keys change their shard', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: SLOT_COUNT - 1 }),
        fc.array(fc.string(), { minLength: 20 }),
        (slot, names) => {
          const keys = names.map((name) => name.replaceAll('\0', '0'));
          const before = createTopology([
            { name: 'a', slots: ['0-16383'] },
            { name: 'b', slots: [] },
          ]);
          const rest = [
            [0, slot - 1],
            [slot + 1, SLOT_COUNT - 1],
          ].filter(([first, last]) => first! <= last!);
          const after = createTopology([
            { name: 'a', slots: rest.map(([first, last]) => `${first}-${last}`) },
            { name: 'b', slots: [slot] },
          ]);
          expect(movedSlots(before, after)).toEqual([{ group: 0, slot, from: 'a', to: 'b' }]);
          const changed = keys.filter((key) => before.shardOf(key).name !== after.shardOf(key).name);
          expect(changed).toEqual(keys.filter((key) => slotOf(key) === slot));
        },
      ),
      { numRuns: 50 },
    );
  });
});
