import { describe, expect, it } from '@jest/globals';
import {
  createTopology,
  MAX_GROUP,
  MAX_MEMBER,
  shardOfPlace,
  ShardIdentifier,
  type PlaceOptions,
} from './index.js';

const topology = createTopology([
  { name: 'shard0', slots: ['0-8191'] },
  { name: 'shard1', slots: ['8192-16383'] },
  { name: 'eu', group: 4, member: 7 },
  { name: 'mx', group: 9 },
]);

describe('shardOfPlace', () => {
  it('finds the shard of an identifier', () => {
    const names = ['0,0', '0,1', '4,7', '9,0'].map((pair) => {
      const [group = NaN, member = NaN] = pair.split(',').map(Number);
      return shardOfPlace(topology, ShardIdentifier.of(group, member)).name;
    });
    expect(names).toEqual(['shard0', 'shard1', 'eu', 'mx']);
  });

  it('finds the owner of a slot inside its group', () => {
    expect(shardOfPlace(topology, { group: 0, slot: 8191 }).name).toBe('shard0');
    expect(shardOfPlace(topology, { group: 0, slot: 8192 }).name).toBe('shard1');
    expect(shardOfPlace(topology, { group: 4, slot: 8192, key: 'acme' }).name).toBe('eu');
  });

  it('resolves none of the 16,380 identifiers that are not configured, to a default least of all', () => {
    const found: string[] = [];
    const codes = new Set<unknown>();
    for (let group = 0; group <= MAX_GROUP; group++) {
      for (let member = 0; member <= MAX_MEMBER; member++) {
        try {
          found.push(`${group},${member} ${shardOfPlace(topology, ShardIdentifier.of(group, member)).name}`);
        } catch (error) {
          codes.add((error as { code: unknown }).code);
        }
      }
    }
    expect(found).toEqual(['0,0 shard0', '0,1 shard1', '4,7 eu', '9,0 mx']);
    expect([...codes]).toEqual(['unregistered_shard']);
  });

  it.each<[number, number, string]>([
    [0, 2, 'no shard has the identifier (0,2): group 0 has no member 2'],
    [2, 5, 'no shard has the identifier (2,5): group 2 has no shards'],
  ])('says what is missing of (%i,%i), as a 404', (group, member, said) => {
    expect(() => shardOfPlace(topology, ShardIdentifier.of(group, member))).toThrow(
      expect.objectContaining({
        code: 'unregistered_shard',
        status: 404,
        message: `${said}; configure it, or check where the id comes from`,
      }),
    );
  });

  it('refuses a slot of a group without shards, and a slot that is none', () => {
    expect(() => shardOfPlace(topology, { group: 3, slot: 0 })).toThrow(
      expect.objectContaining({
        code: 'unregistered_shard',
        message: 'group 3 of the slot has no shards; configure it, or check where the id comes from',
      }),
    );
    expect(() => shardOfPlace(topology, { group: 0, slot: 16384 })).toThrow(
      expect.objectContaining({ code: 'invalid_slot' }),
    );
  });
});

describe("unregisteredShard: 'default'", () => {
  const reports: string[] = [];
  const options: PlaceOptions = {
    unregisteredShard: 'default',
    onDefault: (identifier, standIn) => reports.push(`${identifier} -> ${standIn.name}`),
  };

  it('stands in with member 0 of the same group and reports it, each time', () => {
    reports.length = 0;
    expect(shardOfPlace(topology, ShardIdentifier.of(0, 63), options).name).toBe('shard0');
    expect(shardOfPlace(topology, ShardIdentifier.of(9, 1), options).name).toBe('mx');
    expect(shardOfPlace(topology, ShardIdentifier.of(9, 1), options).name).toBe('mx');
    expect(reports).toEqual(['(0,63) -> shard0', '(9,1) -> mx', '(9,1) -> mx']);
  });

  it('reports nothing of an identifier that has its shard', () => {
    reports.length = 0;
    expect(shardOfPlace(topology, ShardIdentifier.of(4, 7), options).name).toBe('eu');
    expect(reports).toEqual([]);
  });

  it('never leaves the group: without a member 0, or without shards, it is an error', () => {
    reports.length = 0;
    const refused = expect.objectContaining({ code: 'unregistered_shard' });
    expect(() => shardOfPlace(topology, ShardIdentifier.of(4, 1), options)).toThrow(refused);
    expect(() => shardOfPlace(topology, ShardIdentifier.of(2, 5), options)).toThrow(refused);
    expect(() => shardOfPlace(topology, { group: 2, slot: 5 }, options)).toThrow(refused);
    expect(reports).toEqual([]);
  });

  it('cannot be chosen without saying who is told', () => {
    // @ts-expect-error the callback is missing
    const silent: PlaceOptions = { unregisteredShard: 'default' };
    expect(() => shardOfPlace(topology, ShardIdentifier.of(0, 5), silent)).toThrow(TypeError);
  });
});
