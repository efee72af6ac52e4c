import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GuardedBoots, type ShardPart } from './guarded-boots.js';

let boots: GuardedBoots;

beforeAll(async () => {
  boots = await GuardedBoots.create();
});

beforeEach(() => boots.forget());
afterEach(() => boots.close());

const boot = (...parts: ShardPart[]) => boots.boot(parts, { slotMapGuard: 'strict' });
const REFUSED = { code: 'slot_map_changed' };
const ALL = { slots: ['0-16383'] };
const NONE = { slots: [] };

describe('an identifier', () => {
  it('that was given up does not pass to another shard', async () => {
    await boot(ALL, { name: 'b', ...NONE });
    await boot(ALL);
    const before = await boots.recorded();
    await expect(boot(ALL, { name: 'c', ...NONE })).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining(
        '\n  c has (0,1), which was the identifier of b until version 1: member = 2',
      ),
    });
    expect(await boots.recorded()).toEqual(before);
    expect(await boot(ALL, { name: 'c', ...NONE, member: 2 })).toEqual([]);
    expect(await boot(ALL, { name: 'b', ...NONE }, { name: 'c', ...NONE, member: 2 })).toEqual([]);
  });

  it('keeps its slots under another name with a warning, once', async () => {
    const [lower, upper] = [{ slots: ['0-8191'] }, { slots: ['8192-16383'] }];
    await boot(lower, { name: 'b', ...upper });
    const renamed = [lower, { name: 'z', ...upper }];
    expect(await boots.boot(renamed)).toEqual([expect.stringMatching(/\n {2}\(0,1\) from b to z$/)]);
    expect(await boot(...renamed)).toEqual([]);
    expect(await boot(...renamed, NONE)).toEqual([]);
  });
});

describe('verified moves', () => {
  const before = [{ slots: ['0-8191'] }, { slots: ['8192-16383'] }, NONE];
  const atShard1 = [{ slots: ['0-8000'] }, { slots: ['8001-16383'] }, NONE];
  const atShard2 = [{ slots: ['0-8000'] }, { slots: ['8192-16383'] }, { slots: ['8001-8191'] }];

  it('there and back settle nothing', async () => {
    await boot(...before);
    await boots.recordMove('shard0', 'shard1');
    await boots.recordMove('shard1', 'shard0');
    await expect(boot(...atShard1)).rejects.toMatchObject(REFUSED);
    expect(await boot(...before)).toEqual([]);
  });

  it('from shard to shard settle where they end', async () => {
    await boot(...before);
    await boots.recordMove('shard0', 'shard1');
    await boots.recordMove('shard1', 'shard2');
    await expect(boot(...atShard1)).rejects.toMatchObject(REFUSED);
    expect(await boot(...atShard2)).toEqual([]);
  });

  it('of one moment count in the order in which they were recorded', async () => {
    await boot(...before);
    await boots.control(`insert into _sharding_slot_moves (source, destination, group_id, slots)
      values ('shard0', 'shard1', 0, '8001-8191'), ('shard1', 'shard2', 0, '8001-8191')`);
    expect(await boot(...atShard2)).toEqual([]);
  });

  it('count by when they were verified', async () => {
    await boot(...before);
    await boots.recordMove('shard1', 'shard2');
    await boots.recordMove('shard0', 'shard1');
    await boots.control(`update _sharding_slot_moves set verified_at = now() + interval '1 minute'
      where source = 'shard1'`);
    expect(await boot(...atShard2)).toEqual([]);
  });

  it('count although another change was recorded since', async () => {
    await boot(...before.slice(0, 2));
    await boots.recordMove('shard0', 'shard1');
    await boot(...before);
    expect(await boot(...atShard1)).toEqual([]);
  });

  it('do not count again after the slots went back', async () => {
    await boot(...before);
    await boots.recordMove('shard0', 'shard1');
    await boot(...atShard1);
    await boots.boot(before);
    await expect(boot(...atShard1)).rejects.toMatchObject(REFUSED);
  });
});
