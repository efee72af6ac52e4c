import { describe, expect, it, test } from '@jest/globals';
import { createTopology } from '@app/routing';
import { mappedShards, type MapVersion, type VerifiedMove } from '../../slot-map/mapped-shard.js';
import { changesIdentifiers, historyOf, isUnchanged, mapChanges, type MapChanges } from './map-changes.js';

type Shards = Parameters<typeof createTopology>[0];

/** Version 1 at second 10, version 2 at second 20 ...; returned newest first. */
function versions(...maps: readonly Shards[]): MapVersion[] {
  return maps
    .map((shards, index) => ({
      version: index + 1,
      recordedAt: 10 * (index + 1),
      shards: mappedShards(createTopology(shards)),
    }))
    .toReversed();
}

function changes(recorded: readonly Shards[], current: Shards, moves: VerifiedMove[] = []): MapChanges {
  return mapChanges({
    versions: versions(...recorded),
    moves,
    current: mappedShards(createTopology(current)),
  });
}

const move = (slots: string, verifiedAt = 15, change: Partial<VerifiedMove> = {}): VerifiedMove => ({
  group: 0,
  source: 'a',
  destination: 'b',
  slots,
  verifiedAt,
  ...change,
});
const slot = (slots: string, from: string | null, to: string | null, verified = false) => ({
  group: 0,
  from,
  to,
  slots,
  verified,
});

const TWO: Shards = [
  { name: 'a', slots: ['0-8191'] },
  { name: 'b', slots: ['8192-16383'] },
];
const SHRUNK: Shards = [
  { name: 'a', slots: ['0-8000'] },
  { name: 'b', slots: ['8001-16383'] },
];
const NOTHING: MapChanges = {
  added: [],
  removed: [],
  identifiers: [],
  passed: [],
  numbered: [],
  slots: [],
};

describe('what a map has otherwise than the newest version', () => {
  test.each<[string, Shards[], Shards, Partial<MapChanges>]>([
    ['nothing', [TWO], TWO, {}],
    ['nothing: the split is declared now', [[{ name: 'a' }, { name: 'b' }]], TWO, {}],
    ['everything before the first version', [], TWO, { added: ['a', 'b'] }],
    ['a drained shard more', [TWO], [...TWO, { name: 'c', slots: [] }], { added: ['c'] }],
    ['a drained shard less', [[...TWO, { name: 'c', slots: [] }]], TWO, { removed: ['c'] }],
    ['slots', [TWO], SHRUNK, { slots: [slot('8001-8191', 'a', 'b')] }],
    [
      'slots of a shard that has gone',
      [TWO],
      [{ name: 'a', slots: ['0-16383'] }],
      { removed: ['b'], slots: [slot('8192-16383', 'b', 'a')] },
    ],
    [
      'a group that has gone',
      [[...TWO, { name: 'eu', group: 2 }]],
      TWO,
      { removed: ['eu'], slots: [{ ...slot('0-16383', 'eu', null), group: 2 }] },
    ],
    ['a group that is new', [TWO], [...TWO, { name: 'eu', group: 2 }], { added: ['eu'] }],
    [
      'the identifiers by another order',
      [TWO],
      TWO.toReversed(),
      {
        identifiers: [
          { shard: 'b', from: { group: 0, member: 1 }, to: { group: 0, member: 0 } },
          { shard: 'a', from: { group: 0, member: 0 }, to: { group: 0, member: 1 } },
        ],
        passed: [
          { group: 0, member: 0, from: 'a', to: 'b', renamed: false },
          { group: 0, member: 1, from: 'b', to: 'a', renamed: false },
        ],
      },
    ],
    [
      'a name',
      [TWO],
      [TWO[0]!, { name: 'z', slots: ['8192-16383'] }],
      {
        added: ['z'],
        removed: ['b'],
        passed: [{ group: 0, member: 1, from: 'b', to: 'z', renamed: true }],
        slots: [slot('8192-16383', 'b', 'z')],
      },
    ],
    [
      'an identifier that was given up long ago',
      [[...TWO, { name: 'c', slots: [] }], TWO],
      [...TWO, { name: 'd', slots: [] }],
      { added: ['d'], passed: [{ group: 0, member: 2, from: 'c', to: 'd', renamed: false }] },
    ],
  ])('%s', (_what, recorded, current, expected) => {
    expect(changes(recorded, current)).toEqual({ ...NOTHING, ...expected });
  });

  it('is a member where a shard had none', () => {
    const [newest] = versions(TWO);
    const old = newest!.shards.map((shard) => ({ ...shard, member: null }));
    const current = newest!.shards;
    expect(mapChanges({ versions: [{ ...newest!, shards: old }], moves: [], current })).toEqual({
      ...NOTHING,
      numbered: ['a', 'b'],
    });
  });
});

describe('a verified move', () => {
  test.each<[string, VerifiedMove[], MapChanges['slots']]>([
    ['of all', [move('8001-8191')], [slot('8001-8191', 'a', 'b', true)]],
    ['of some', [move('8001-8100')], [slot('8101-8191', 'a', 'b'), slot('8001-8100', 'a', 'b', true)]],
    ['of another pair', [move('8001-8191', 15, { destination: 'c' })], [slot('8001-8191', 'a', 'b')]],
    ['before the version', [move('8001-8191', 5)], [slot('8001-8191', 'a', 'b')]],
  ])('%s', (_what, moves, expected) => expect(changes([TWO], SHRUNK, moves).slots).toEqual(expected));
});

test('the history tells what changed in each version, by the moves until then', () => {
  const recorded = versions(
    TWO,
    SHRUNK,
    [...SHRUNK, { name: 'c', slots: [] }],
    [...TWO, { name: 'c', slots: [] }],
  );
  const told = historyOf(recorded, [
    move('8001-8191', 15),
    move('8001-8191', 45, { source: 'b', destination: 'a' }),
  ]);
  expect(told.map(({ version, changes: changed }) => [version.version, changed])).toEqual([
    [4, { ...NOTHING, slots: [slot('8001-8191', 'b', 'a')] }],
    [3, { ...NOTHING, added: ['c'] }],
    [2, { ...NOTHING, slots: [slot('8001-8191', 'a', 'b', true)] }],
    [1, null],
  ]); // prettier-ignore
});

test.each<[Partial<MapChanges>, boolean, boolean]>([
  [{}, true, false],
  [{ added: ['a'] }, false, false],
  [{ removed: ['a'] }, false, false],
  [{ numbered: ['a'] }, false, false],
  [{ slots: [slot('1', 'a', 'b')] }, false, false],
  [{ added: ['z'], passed: [{ group: 0, member: 1, from: 'b', to: 'z', renamed: true }] }, false, false],
  [{ added: ['z'], passed: [{ group: 0, member: 1, from: 'b', to: 'z', renamed: false }] }, false, true],
  [
    { identifiers: [{ shard: 'a', from: { group: 0, member: 1 }, to: { group: 1, member: 1 } }] },
    false,
    true,
  ],
])('%j: unchanged %s, other identifiers %s', (some, unchanged, identifiers) => {
  const all = { ...NOTHING, ...some };
  expect([isUnchanged(all), changesIdentifiers(all)]).toEqual([unchanged, identifiers]);
});
