import { describe, expect, it } from '@jest/globals';
import { createTopology } from '@app/routing';
import { judgeSlotMap, type MapVerdict } from './judge-slot-map.js';
import { mappedShards, type VerifiedMove } from './mapped-shard.js';
import type { SlotMapGuard } from '../sharding.options.js';

type Shards = Parameters<typeof createTopology>[0];

interface Circumstances {
  readonly guard?: SlotMapGuard;
  readonly moves?: readonly VerifiedMove[];
  /** Version 6 and those before it, newest first. */
  readonly earlier?: readonly Shards[];
}

/** Version 7 was recorded at 700, version 6 at 600, and so on. */
function judge(
  before: Shards,
  after: Shards,
  { guard = 'warn', moves = [], earlier = [] }: Circumstances = {},
): MapVerdict {
  const versions = [before, ...earlier].map((shards, age) => ({
    version: 7 - age,
    shards: mappedShards(createTopology(shards)),
    recordedAt: 100 * (7 - age),
  }));
  return judgeSlotMap({ versions, current: mappedShards(createTopology(after)), moves, guard });
}

const TWO: Shards = [{ name: 'a' }, { name: 'b' }];
const TWO_PINNED: Shards = [
  { name: 'a', slots: ['0-8191'] },
  { name: 'b', slots: ['8192-16383'] },
];
const refusal = (...lines: string[]): MapVerdict => ({ outcome: 'refuse', reason: lines.join('\n') });
const CHANGED =
  'the slot map differs from version 7 on the control database, and not every shard declares its slots. What changed:';
const PIN = 'The rows are where they were: declare the slots so, then move slots one by one.';

describe('the first boot', () => {
  it('records version 1', () => {
    const current = mappedShards(createTopology(TWO));
    const first = judgeSlotMap({ versions: [], current, moves: [], guard: 'strict' });
    expect(first).toEqual({ outcome: 'record', version: 1 });
  });
});

describe('the same map', () => {
  it.each<[string, Shards, Shards]>([
    ['split automatically', TWO, TWO],
    ['declared', TWO_PINNED, TWO_PINNED],
    ['declared with what the split gave', TWO, TWO_PINNED],
    ['split as it was declared', TWO_PINNED, TWO],
    ['written otherwise', [{ name: 'a', slots: ['0-8191', '8192-16383'] }], [{ name: 'a' }]],
    [
      'in another order, with the members declared',
      TWO_PINNED,
      [
        { name: 'b', slots: ['8192-16383'], member: 1 },
        { name: 'a', slots: ['0-8191'], member: 0 },
      ],
    ],
  ])('%s is let through', (_what, before, after) => {
    expect(judge(before, after, { guard: 'strict' })).toEqual({ outcome: 'unchanged' });
  });
});

describe('under the automatic split', () => {
  it('a shard more is refused, with the slots to declare', () => {
    expect(judge(TWO, [...TWO, { name: 'c' }])).toEqual(
      refusal(
        CHANGED,
        '  added: c',
        '  slots of a: 0-8191 before, 0-5461 now',
        '  slots of b: 8192-16383 before, 5462-10922 now',
        PIN,
        '  a: slots = ["0-8191"]',
        '  b: slots = ["8192-16383"]',
        '  c: slots = []',
      ),
    );
  });

  it('a shard less is refused', () => {
    expect(judge(TWO, [{ name: 'a' }])).toEqual(
      refusal(
        CHANGED,
        '  removed: b',
        '  slots of a: 0-8191 before, 0-16383 now',
        PIN,
        '  a: slots = ["0-8191"]',
        '  b: slots = ["8192-16383"]',
      ),
    );
  });

  it('another name is refused', () => {
    expect(judge(TWO, [{ name: 'a' }, { name: 'z' }])).toEqual(
      refusal(
        CHANGED,
        '  renamed or replaced: b by z',
        PIN,
        '  a: slots = ["0-8191"]',
        '  b: slots = ["8192-16383"]',
        '  z: slots = []',
      ),
    );
  });

  it('another order is refused', () => {
    expect(judge(TWO, TWO.toReversed())).toEqual(
      refusal(
        CHANGED,
        '  slots of b: 8192-16383 before, 0-8191 now',
        '  slots of a: 0-8191 before, 8192-16383 now',
        '  identifier of b: (0,1) before, (0,0) now (group = 0, member = 1)',
        '  identifier of a: (0,0) before, (0,1) now (group = 0, member = 0)',
        PIN,
        '  a: slots = ["0-8191"]',
        '  b: slots = ["8192-16383"]',
      ),
    );
  });

  it('a change in another group is refused, and a new group owns all its slots', () => {
    const before: Shards = [{ name: 'a' }, { name: 'eu', group: 1, slots: ['0-16383'] }];
    const after: Shards = [...before, { name: 'eu2', group: 1, slots: [] }, { name: 'us', group: 2 }];
    expect(judge(before, after)).toEqual(
      refusal(
        CHANGED,
        '  added: eu2',
        '  added: us',
        PIN,
        '  a: slots = ["0-16383"]',
        '  eu: slots = ["0-16383"]',
        '  eu2: slots = []',
        '  us: slots = ["0-16383"]',
      ),
    );
  });

  it('the slots of a fragmented map can be copied into the configuration', () => {
    const before: Shards = [
      { name: 'a', slots: ['0-99', '200-16383'] },
      { name: 'b', slots: ['100-199'] },
    ];
    expect(judge(before, TWO)).toMatchObject({
      reason: expect.stringContaining('\n  a: slots = ["0-99", "200-16383"]\n  b: slots = ["100-199"]'),
    });
  });
});

describe('with declared slots', () => {
  const giveTo = (a: string[], b: string[]): Shards => [
    { name: 'a', slots: a },
    { name: 'b', slots: b },
  ];
  const shrunk = giveTo(['0-8000'], ['8001-16383']);
  const aToB = { group: 0, source: 'a', destination: 'b', verifiedAt: 701 };
  const move = (slots: string, change: Partial<VerifiedMove> = {}) => ({ ...aToB, slots, ...change });
  const complaint = (...slots: string[]) =>
    [
      'the slot map differs from version 7 on the control database: slots have other owners, and no verified move of them is recorded.',
      ...slots,
      'Rows that were not moved are not found there: move the slots first, or give them back.',
    ].join('\n');

  const renamed = (...identifiers: string[]) =>
    [
      'Identifiers have another name, and ids carry them for ever; that is right where only the name of the database is new:',
      ...identifiers.map((line) => `  ${line}`),
    ].join('\n');

  it.each<[string, Shards, Shards]>([
    ['a drained shard more', TWO_PINNED, [...TWO_PINNED, { name: 'c', slots: [] }]],
    ['a drained shard less', [...TWO_PINNED, { name: 'c', slots: [] }], TWO_PINNED],
    ['a group more', TWO_PINNED, [...TWO_PINNED, { name: 'eu', group: 1, slots: ['0-16383'] }]],
    ['a drained shard beside a split that is now declared', TWO, [...TWO_PINNED, { name: 'c', slots: [] }]],
  ])('%s is recorded', (_what, before, after) => {
    expect(judge(before, after, { guard: 'strict' })).toEqual({ outcome: 'record', version: 8 });
  });

  it('slots with another owner are recorded with a warning, or refused', () => {
    const both = giveTo(['0-8000', '9000'], ['8001-8999', '9001-16383']);
    const reason = complaint('  8001-8191 from a to b', '  9000 from b to a');
    expect(judge(TWO_PINNED, both)).toEqual({ outcome: 'record', version: 8, warning: reason });
    expect(judge(TWO_PINNED, both, { guard: 'strict' })).toEqual({ outcome: 'refuse', reason });
  });

  it.each<[string, VerifiedMove[], string | undefined]>([
    ['all of them', [move('8001-8191')], undefined],
    ['some', [move('8001-8100, 8150')], '  8101-8149, 8151-8191 from a to b'],
    ['the way back', [move('8001-8191', { source: 'b', destination: 'a' })], '  8001-8191 from a to b'],
  ])('a verified move of %s settles as many', (_what, moves, left) => {
    const warning = left && complaint(left);
    expect(judge(TWO_PINNED, shrunk, { moves })).toEqual({
      outcome: 'record',
      version: 8,
      ...(warning && { warning }),
    });
  });

  describe('an identifier', () => {
    const c = { name: 'c', slots: [] };
    const one: Shards = [{ name: 'a', slots: ['0-16383'] }];
    const passed = (...lines: string[]) =>
      refusal(
        'the slot map differs from version 7 on the control database: shards have identifiers that were those of others, but ids carry them for ever. Give them members that nobody had:',
        ...lines,
      );

    it('does not pass to another shard, however long ago it was given up', () => {
      const b = { name: 'b', slots: [] };
      const refused = passed('  c has (0,1), which was the identifier of b until version 5: member = 2');
      for (const guard of ['warn', 'strict'] as const) {
        expect(judge(one, [...one, c], { earlier: [one, [...one, b]], guard })).toEqual(refused);
      }
    });

    it('of several is proposed to be one that nobody had, for each', () => {
      const [b, d, e] = ['b', 'd', 'e'].map((name) => ({ name, slots: [] }));
      const now = [...one, c, { ...e!, member: 4 }, { ...d! }];
      expect(judge(one, now, { earlier: [[...one, b!, { name: 'x', slots: [] }]] })).toEqual(
        passed(
          '  c has (0,1), which was the identifier of b until version 6: member = 3',
          '  d has (0,2), which was the identifier of x until version 6: member = 5',
        ),
      );
    });

    it('with exactly its slots is a rename, which is warned about', () => {
      const z: Shards = [TWO_PINNED[0]!, { name: 'z', slots: ['8192-16383'] }];
      const both = `${complaint('  8192-16383 from b to z')}\n${renamed('(0,1) from b to z')}`;
      expect(judge(TWO_PINNED, z)).toEqual({ outcome: 'record', version: 8, warning: both });
      expect(judge(TWO_PINNED, z, { guard: 'strict' })).toEqual({ outcome: 'refuse', reason: both });
      const moves = [move('8192-16383', { source: 'b', destination: 'z' })];
      expect(judge(TWO_PINNED, z, { moves, guard: 'strict' })).toMatchObject({
        warning: `the slot map differs from version 7 on the control database.\n${renamed('(0,1) from b to z')}`,
      });
    });
  });

  it('a name that goes leaves its slots to others, its group perhaps to nobody', () => {
    const before: Shards = [...TWO_PINNED, { name: 'eu', group: 4, slots: ['0-16383'] }];
    const after: Shards = [
      { name: 'a', slots: ['0-8191'] },
      { name: 'z', slots: ['8192-16383'] },
    ];
    expect(judge(before, after)).toMatchObject({
      warning: `${complaint('  8192-16383 from b to z', '  0-16383 of group 4 from eu to nobody')}\n${renamed('(0,1) from b to z')}`,
    });
  });

  it.each<[string, Shards, string[]]>([
    [
      'members by another order',
      TWO_PINNED.toReversed(),
      [
        '  identifier of b: (0,1) before, (0,0) now (group = 0, member = 1)',
        '  identifier of a: (0,0) before, (0,1) now (group = 0, member = 0)',
      ],
    ],
    [
      'another group',
      [
        { name: 'a', slots: ['0-16383'] },
        { name: 'b', group: 3, member: 1, slots: ['0-16383'] },
      ],
      ['  identifier of b: (0,1) before, (3,1) now (group = 0, member = 1)'],
    ],
  ])('%s are refused, whatever the guard', (_what, after, lines) => {
    const reason = [
      'the slot map differs from version 7 on the control database: shards have other identifiers, but ids carry them for ever. Give the old ones back:',
      ...lines,
    ].join('\n');
    for (const guard of ['warn', 'strict'] as const) {
      expect(judge(TWO_PINNED, after, { guard })).toEqual({ outcome: 'refuse', reason });
    }
  });

  it('a shard without a member may get one, and not lose it', () => {
    const [a, b] = mappedShards(createTopology(TWO_PINNED));
    const without = [a!, { ...b!, member: null }];
    const judgeBoth = (shards: typeof without, current: typeof without) =>
      judgeSlotMap({
        versions: [{ version: 1, shards, recordedAt: 100 }],
        current,
        moves: [],
        guard: 'strict',
      }).outcome;
    expect(judgeBoth(without, [a!, b!])).toBe('record');
    expect(judgeBoth([a!, b!], without)).toBe('refuse');
    expect(judgeBoth(without, without)).toBe('unchanged');
  });
});
