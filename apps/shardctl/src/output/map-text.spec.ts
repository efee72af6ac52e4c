import { expect, it, test } from '@jest/globals';
import { changesLines, historyText } from './map-text.js';
import type { MapChanges } from '@app/sharding/operator';

const NOTHING: MapChanges = { added: [], removed: [], identifiers: [], passed: [], numbered: [], slots: [] };

test('every change is a line', () => {
  expect(
    changesLines({
      added: ['c', 'bad\nname'],
      removed: ['d'],
      identifiers: [{ shard: 'a', from: { group: 0, member: 1 }, to: { group: 1, member: null } }],
      passed: [
        { group: 0, member: 1, from: 'b', to: 'z', renamed: true },
        { group: 0, member: 2, from: 'd', to: 'c', renamed: false },
      ],
      numbered: ['e'],
      slots: [
        { group: 0, from: 'a', to: 'b', slots: '1-5, 9', verified: false },
        { group: 2, from: null, to: 'b', slots: '7', verified: true },
      ],
    }),
  ).toEqual([
    '  added: c',
    '  added: bad\\x0aname',
    '  removed: d',
    '  identifier of a: (0,1) before, (1,-) now',
    '  identifier (0,1) from b to z: renamed',
    '  identifier (0,2) from d to c: ids of one name the other',
    '  has a member now: e',
    '  slots 1-5, 9 from a to b, WITHOUT a verified move',
    '  slots 7 of group 2 from nobody to b, moved and verified',
  ]);
  expect(changesLines(NOTHING)).toEqual(['  nothing but how it is declared']);
});

it('tells each version with its shards', () => {
  expect(historyText([])).toBe('no slot map is recorded yet: the first boot does so');
  const shard = { name: 'a', group: 0, member: 0, slots: '0-16383', autoSplit: true };
  const drained = { name: 'b', group: 0, member: null, slots: '', autoSplit: false };
  const versions = [
    { version: { version: 1, recordedAt: 0, shards: [shard] }, changes: null },
    {
      version: { version: 2, recordedAt: 1.5, shards: [shard, drained] },
      changes: { ...NOTHING, added: ['b'] },
    },
  ];
  expect(historyText(versions)).toBe(
    `version 1, recorded at 1970-01-01T00:00:00.000Z
shard  group  member  slots    split
a          0       0  0-16383  automatic

version 2, recorded at 1970-01-01T00:00:01.500Z
shard  group  member  slots    split
a          0       0  0-16383  automatic
b          0       -  drained  declared
what changed:
  added: b`,
  );
});
