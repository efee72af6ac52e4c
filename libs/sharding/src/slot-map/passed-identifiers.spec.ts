import { describe, expect, it } from '@jest/globals';
import { freeMembers, passedIdentifiers } from './passed-identifiers.js';
import type { MappedShard } from './mapped-shard.js';

const shard = (name: string, member: number | null, slots = '', group = 0): MappedShard => ({
  name,
  group,
  member,
  slots,
  autoSplit: false,
});
const a = shard('a', 0, '0-8191');
const b = shard('b', 1, '8192-16383');
const drained = { ...b, slots: '' };

/** The versions, newest first, end with 7. */
const versionsOf = (...versions: MappedShard[][]) =>
  versions.map((shards, age) => ({ version: 7 - age, shards, recordedAt: 100 * (7 - age) }));

/** `(group,member) from to version`, and whether it is a rename. */
function passed(versions: MappedShard[][], now: MappedShard[]): string[] {
  return passedIdentifiers(versionsOf(...versions), now).map(
    ({ from, to, version, isRename }) => `${from.name}->${to.name} ${version}${isRename ? ' rename' : ''}`,
  );
}

describe('an identifier', () => {
  it.each<[string, MappedShard[][], MappedShard[], string[]]>([
    ['stays', [[a, b]], [a, b], []],
    ['is given up', [[a, drained]], [a], []],
    ['comes back to its name', [[a], [a, drained]], [a, drained], []],
    ['is new', [[a]], [a, shard('c', 2)], []],
    ['passes on at once', [[a, drained]], [a, shard('c', 1)], ['b->c 7']],
    ['passes on later', [[a], [a], [a, drained]], [a, shard('c', 1)], ['b->c 5']],
    ['of another group is another', [[a], [a, drained]], [a, shard('c', 1, '0-16383', 1)], []],
    ['passes with its slots', [[a, b]], [a, shard('z', 1, b.slots)], ['b->z 7 rename']],
    ['passes with other slots', [[a, b]], [a, shard('z', 1, '9000-16383')], ['b->z 7']],
    ['passes without slots', [[a, drained]], [a, shard('z', 1)], ['b->z 7']],
    ['passes with the slots of long ago', [[a], [a, b]], [a, shard('z', 1, b.slots)], ['b->z 6']],
    ['passes while its holder stays', [[a, b]], [a, shard('z', 1, b.slots), { ...b, member: 2 }], ['b->z 7']],
    [
      'was renamed',
      [
        [a, shard('z', 1, b.slots)],
        [a, b],
      ],
      [a, shard('z', 1, b.slots)],
      [],
    ],
    [
      'is renamed back',
      [
        [a, shard('z', 1, b.slots)],
        [a, b],
      ],
      [a, b],
      ['z->b 7 rename'],
    ],
    ['is none', [[a, shard('x', null)]], [a, shard('y', null)], []],
  ])('%s', (_what, versions, now, expected) => {
    expect(passed(versions, now)).toEqual(expected);
  });
});

it('members that were ever had, or are now, are not free', () => {
  const versions = versionsOf([a], [a, drained, shard('x', null)], [a, shard('y', 3, '', 1)]);
  const free = freeMembers(0, versions, [a, shard('d', 2)]);
  expect([free.length, ...free.slice(0, 3), free.at(-1)]).toEqual([61, 3, 4, 5, 63]);
});
