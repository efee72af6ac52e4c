import { expect, it } from '@jest/globals';
import { createTopology } from '@app/routing';
import { directoryVerdicts } from './directory.js';
import type { DirectoryFacts, PinGroup } from '../directory-facts.js';

const topology = createTopology([{ name: 'a' }, { name: 'eu', group: 1 }]);
const facts: DirectoryFacts = { revision: 9, pins: [], silenced: [], behind: [] };
const pins = (shard: string | undefined, group: number | undefined, ...keys: string[]): PinGroup => ({
  shard,
  group,
  count: keys.length,
  keys: keys.slice(0, 3),
});
const judged = (change: Partial<DirectoryFacts>, obeyed = true) =>
  directoryVerdicts('control', { ...facts, ...change }, { topology, obeyed }).map(
    ({ severity, reason }) => `${severity} ${reason}`,
  );

it.each<[string, PinGroup, string[]]>([
  ['a shard of the usual group', pins('a', undefined, 'k'), []],
  ['a group', pins(undefined, 1, 'k'), []],
  ['both', pins('eu', 1, 'k'), []],
  [
    'an unknown shard',
    pins('z', undefined, 'k'),
    ['error 1 row names shard "z", which is not configured: their requests are refused ("k")'],
  ],
  [
    'an unknown group',
    pins('a', 7, 'k', 'l'),
    ['error 2 rows name group 7, which has no shards: their requests are refused ("k", "l")'],
  ],
  [
    'a shard of another group',
    pins('eu', undefined, 'k', 'l', 'm', 'n'),
    [
      'warning 4 rows name shard "eu", outside of the group of the key: the rows are ignored ("k", "l", "m", ...)',
    ],
  ],
])('rows that name %s', (_what, row, expected) => {
  expect(judged({ pins: [row] })).toEqual(expected);
});

it.each<[string, Partial<DirectoryFacts>, string]>([
  [
    'no revision',
    { revision: undefined },
    'error the row of _sharding_revision is missing: no process can read the directory',
  ],
  [
    'a trigger that is off',
    { silenced: ['announce'] },
    'error the trigger announce of _sharding_directory is off: processes do not learn of changes',
  ],
  [
    'a process that is behind',
    { behind: [{ name: 'web:1', revision: 7, wanted: 9 }] },
    'warning the process web:1 lives and routes by revision 7 of the directory, which was at 9 a second ago',
  ],
])('%s', (_what, change, expected) => {
  expect(judged(change)).toEqual([expected]);
});

it('tells only that there are rows where nobody obeys them', () => {
  expect(judged({ revision: undefined }, false)).toEqual([]);
  expect(judged({ pins: [pins('z', undefined, 'k'), pins('a', undefined, 'l')] }, false)).toEqual([
    'info the directory has 2 rows, and directory_shard_router is off: nobody obeys them unless a router in code does',
  ]);
});
