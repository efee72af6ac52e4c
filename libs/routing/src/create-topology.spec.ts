import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { autoSplit, createTopology, SLOT_COUNT, topologyProblems, type ShardInput } from './index.js';

const plain = (count: number, more: Partial<ShardInput> = {}): ShardInput[] =>
  Array.from({ length: count }, (_, n) => ({ name: `s${n}`, ...more }));

describe('the automatic split', () => {
  it.each([
    [0, 3, 0],
    [5461, 3, 0],
    [5462, 3, 1],
    [16383, 3, 2],
    [8191, 2, 0],
    [8192, 2, 1],
  ])('slot %i of %i shards -> %i', (slot, shards, owner) => expect(autoSplit(slot, shards)).toBe(owner));

  it.each([
    [1, ['0-16383']],
    [2, ['0-8191', '8192-16383']],
    [3, ['0-5461', '5462-10922', '10923-16383']],
    [5, ['0-3276', '3277-6553', '6554-9830', '9831-13107', '13108-16383']],
  ])('over %i shards is %j', (count, ranges) => {
    const topology = createTopology(plain(count));
    expect(topology.shards.map(({ name }) => topology.rangesOfShard(name))).toEqual(ranges);
    expect(topology.autoSplit).toBe(true);
  });

  it('gives 16,384 shards a slot each and has none for one more', () => {
    expect(createTopology(plain(16384)).shardOfSlot(77).name).toBe('s77');
    expect(topologyProblems(plain(16385))).toEqual([
      '16385 shards cannot share 16384 slots; declare slots for each shard',
    ]);
  });

  it('is per group', () => {
    const topology = createTopology([...plain(2), { name: 'eu0', group: 7 }, { name: 'eu1', group: 7 }]);
    expect(topology.rangesOfShard('eu1')).toBe('8192-16383');
    expect(topology.rangesOfShard('s1')).toBe('8192-16383');
  });
});

describe('declared shards that are a topology', () => {
  it.each<[string, ShardInput[]]>([
    ['one shard', [{ name: 'default' }]],
    [
      'explicit slots in any order',
      [
        { name: 'b', slots: ['8192-16383'] },
        { name: 'a', slots: [0, '1', '2-8191'] },
      ],
    ],
    [
      'a drained shard',
      [
        { name: 'a', slots: ['0-16383'] },
        { name: 'b', slots: [] },
      ],
    ],
    [
      'slots in one group, none in the other',
      [
        { name: 'a', slots: ['0-16383'] },
        { name: 'b', group: 1 },
      ],
    ],
    ['fields given as undefined', [{ name: 'a', slots: undefined, group: undefined, member: undefined }]],
    [
      'the same member in two groups',
      [
        { name: 'a', member: 5 },
        { name: 'b', member: 5, group: 1 },
      ],
    ],
    ['names with every legal character', [{ name: 'a-z_09' }]],
    ['a JavaScript word as name', [{ name: 'constructor' }, { name: '__proto__' }]],
    ['300 shards in one group', plain(300)],
  ])('%s', (_, shards) => expect(topologyProblems(shards)).toEqual([]));
});

describe('a mistake in the declared shards', () => {
  it.each<[string, unknown[], string[]]>([
    ['no shard', [], ['at least one shard is needed']],
    ['an empty name', [{ name: '' }], ['shards[0]: name must match [a-z0-9_-]+, not ""']],
    [
      'a name in capitals',
      [{ name: 'a' }, { name: 'B' }],
      ['shards[1]: name must match [a-z0-9_-]+, not "B"'],
    ],
    ['a name with a newline', [{ name: 'a\n' }], ['shards[0]: name must match [a-z0-9_-]+, not "a\\n"']],
    ['no name', [{}], ['shards[0]: name must match [a-z0-9_-]+, not undefined']],
    ['a name that is a list', [{ name: ['a'] }], ['shards[0]: name must match [a-z0-9_-]+, not an array']],
    ['a duplicate name', [{ name: 'a' }, { name: 'a' }], ['shards[1]: the name "a" is taken by shards[0]']],
    [
      'a group too large',
      [{ name: 'a', group: 256 }],
      ['shard "a": group must be an integer in 0..255, not 256'],
    ],
    [
      'a member too large',
      [{ name: 'a', member: 64 }],
      ['shard "a": member must be an integer in 0..63, not 64'],
    ],
    [
      'a duplicate identifier',
      [
        { name: 'a', group: 2, member: 3 },
        { name: 'b', group: 2, member: 3 },
      ],
      ['shard "b": identifier (2,3) is taken by shard "a"'],
    ],
    [
      'slots on some shards only',
      [{ name: 'a', slots: ['0-16383'] }, { name: 'b' }, { name: 'c' }],
      ['either every shard must declare slots or none may; without slots: shard "b", shard "c"'],
    ],
    [
      'unassigned slots',
      [
        { name: 'a', slots: ['0-99', '102-16000'] },
        { name: 'b', slots: ['16002-16383'] },
      ],
      ['the slots 0..16383 must each have an owner; unassigned: 100-101, 16001'],
    ],
    [
      'only drained shards',
      [{ name: 'a', slots: [] }],
      ['the slots 0..16383 must each have an owner; unassigned: 0-16383'],
    ],
    [
      'one slot claimed twice',
      [
        { name: 'a', slots: ['0-8192'] },
        { name: 'b', slots: ['8192-16383'] },
      ],
      ['shard "b": slot 8192 is already owned by shard "a"'],
    ],
    [
      'slots claimed by several shards',
      [
        { name: 'a', slots: ['0-9'] },
        { name: 'b', slots: ['10-16383'] },
        { name: 'c', slots: ['8-11', 3] },
      ],
      [
        'shard "c": slots 3, 8-9 are already owned by shard "a"',
        'shard "c": slots 10-11 are already owned by shard "b"',
      ],
    ],
    [
      'a slot listed twice',
      [{ name: 'a', slots: ['0-16383', '5', '7-8'] }],
      ['shard "a": slots 5, 7-8 are listed more than once'],
    ],
    [
      'a spec that cannot be read',
      [{ name: 'a', slots: ['0-16383', 'x'] }],
      ['shard "a": invalid slot "x": write 5, "5" or "0-8191"'],
    ],
    [
      'slots that are no list',
      [
        { name: 'a', slots: '0-16383' },
        { name: 'b', slots: ['0-16383'] },
      ],
      ['shard "a": slots must be a list such as ["0-8191", 9000]'],
    ],
  ])('%s', (_, shards, problems) => expect(topologyProblems(shards as ShardInput[])).toEqual(problems));

  it('names the group when there are several', () => {
    const shards = [
      { name: 'a', group: 3, slots: ['1-16383'] },
      { name: 'b', slots: ['0-16383'] },
    ];
    expect(topologyProblems(shards)).toEqual([
      'group 3: the slots 0..16383 must each have an owner; unassigned: 0',
    ]);
  });

  it('is reported together with all others, in one error', () => {
    const shards = [
      { name: 'A' },
      { name: 'b', group: -1 },
      { name: 'c', slots: ['0-5', 'x'], member: 1 },
      { name: 'c', slots: ['5-16382'], member: 1 },
    ];
    const problems = [
      'shards[0]: name must match [a-z0-9_-]+, not "A"',
      'shard "b": group must be an integer in 0..255, not -1',
      'shards[3]: the name "c" is taken by shards[2]',
      'shards[3]: identifier (0,1) is taken by shard "c"',
      'shard "c": invalid slot "x": write 5, "5" or "0-8191"',
      'shards[3]: slot 5 is already owned by shard "c"',
      'either every shard must declare slots or none may; without slots: shards[0]',
    ];
    expect(topologyProblems(shards)).toEqual(problems);
    expect(() => createTopology(shards)).toThrow(
      expect.objectContaining({
        code: 'invalid_topology',
        message: ['the shards do not form a topology:', ...problems].join('\n  - '),
      }),
    );
  });

  it('does not list thousands of names', () => {
    const shards = [{ name: 'a', slots: ['0-16383'] }, ...plain(100)];
    expect(topologyProblems(shards)[0]).toMatch(/^either .*: shard "s0", .*, shard "s19" and 80 more$/);
  });
});

describe('members', () => {
  const identifiers = (shards: ShardInput[]) =>
    createTopology(shards).shards.map(({ identifier }) => (identifier ? String(identifier) : 'none'));

  it('number themselves by declaration order within their group', () => {
    const shards = [{ name: 'a' }, { name: 'x', group: 9 }, { name: 'b' }, { name: 'y', group: 9 }];
    expect(identifiers(shards)).toEqual(['(0,0)', '(9,0)', '(0,1)', '(9,1)']);
  });

  it('skip the numbers that others reserve', () => {
    expect(
      identifiers([{ name: 'a' }, { name: 'b', member: 0 }, { name: 'c' }, { name: 'd', member: 2 }]),
    ).toEqual(['(0,1)', '(0,0)', '(0,3)', '(0,2)']);
  });

  it('reach 63; in a larger group only those with a number of their own have one', () => {
    expect(identifiers(plain(64)).at(-1)).toBe('(0,63)');
    const larger = identifiers([...plain(64), { name: 'numbered', member: 7 }]);
    expect(larger.at(-1)).toBe('(0,7)');
    expect(new Set(larger.slice(0, -1))).toEqual(new Set(['none']));
  });
});

describe('every explicit map', () => {
  it('that cuts the slots anywhere covers each slot exactly once per group', () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: SLOT_COUNT - 1 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(cuts, { minLength: 1, maxLength: 3 }), (groups) => {
        const topology = createTopology(groups.flatMap((group, number) => cutInto(group, number)));
        for (const group of topology.groups) {
          const owned = topology.shards
            .filter((shard) => shard.group === group)
            .flatMap((shard) => topology.slotsOfShard(shard.name));
          expect(owned).toHaveLength(SLOT_COUNT);
          expect(new Set(owned).size).toBe(SLOT_COUNT);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('with one slot taken away or given twice is refused, naming the slot', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: SLOT_COUNT - 2 }), (slot) => {
        const before = `0-${slot - 1}`;
        const after = `${slot + 1}-16383`;
        expect(topologyProblems([{ name: 'a', slots: [before, after] }])).toEqual([
          `the slots 0..16383 must each have an owner; unassigned: ${slot}`,
        ]);
        expect(
          topologyProblems([
            { name: 'a', slots: [before, slot] },
            { name: 'b', slots: [slot, after] },
          ]),
        ).toEqual([`shard "b": slot ${slot} is already owned by shard "a"`]);
      }),
    );
  });
});

function cutInto(cuts: readonly number[], group: number): ShardInput[] {
  const starts = [0, ...cuts.toSorted((a, b) => a - b)];
  return starts.map((start, i) => ({
    name: `g${group}-s${i}`,
    group,
    slots: [`${start}-${(starts[i + 1] ?? SLOT_COUNT) - 1}`],
  }));
}
