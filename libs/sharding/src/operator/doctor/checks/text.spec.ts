import { expect, it } from '@jest/globals';
import { textVerdicts, type Texts } from './text.js';

const usual: Texts = {
  target: 'shard:a',
  isShard: true,
  encoding: 'UTF8',
  collate: 'en_US.utf8',
  ctype: 'en_US.utf8',
  provider: 'libc',
  locale: null,
  collations: { '(database)': '2.36' },
  outdated: [],
};

it.each<[string, Partial<Texts>, string[]]>([
  ['all the same', {}, []],
  [
    'encoding',
    { encoding: 'LATIN1' },
    [
      'error has the encoding LATIN1, where most have UTF8: a text that one of them takes is refused by another',
    ],
  ],
  [
    'collate',
    { collate: 'C' },
    [
      'warning has the collation C with ctype en_US.utf8 (libc), where most have en_US.utf8 (libc): rows of several shards are in two orders, and upper and lower case can differ',
    ],
  ],
  [
    'provider',
    { provider: 'icu', locale: 'en-US' },
    [
      'warning has the collation en-US (icu), where most have en_US.utf8 (libc): rows of several shards are in two orders, and upper and lower case can differ',
    ],
  ],
  [
    'version of the library',
    { collations: { '(database)': '2.31' } },
    [
      'warning sorts by version 2.31 of the collation of the database, where most have 2.36: the order of rows differs, and an index that a replica copies is wrong there',
    ],
  ],
  [
    'another collation that one shard alone uses',
    { collations: { '(database)': '2.36', de: '153.120' } },
    [],
  ],
  [
    'recorded version',
    { outdated: ['(database)', 'de'] },
    [
      'warning was built under other versions of its collations than the server has now (of the database, "de"): indexes over text can miss rows',
    ],
  ],
  ['the order of the control database', { isShard: false, collate: 'C', ctype: 'C' }, []],
])('%s', (_what, change, expected) => {
  const found = textVerdicts([usual, { ...usual, target: 'x', ...change }, { ...usual, target: 'shard:c' }]);
  expect(found.map(({ severity, reason }) => `${severity} ${reason}`)).toEqual(expected);
  expect(found.every(({ target }) => target === 'x')).toBe(true);
});

it('warns of an encoding that is none', () => {
  const found = textVerdicts([{ ...usual, encoding: 'SQL_ASCII' }]);
  expect(found.map(({ severity, reason }) => [severity, reason])).toEqual([
    ['warning', 'has the encoding SQL_ASCII: the server takes any bytes for text'],
  ]);
});
