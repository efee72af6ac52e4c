import { expect, it } from '@jest/globals';
import { bytesText, countText, estimateOf } from './move-estimate.js';

const table = 'public.bookmarks';
const expected = { rows: 48_000, bytes: 240_000_000 };

it.each([
  ['what is known at the beginning', { bytes: 0, ms: 0, expected }, '0 B of about 240 MB'],
  [
    'rates and what is left',
    { bytes: 12_000_000, ms: 2000, expected },
    '12 MB of about 240 MB, 6.0 MB/s, about 1,200 rows/s, 38 s left',
  ],
  [
    'hours',
    { bytes: 12_000, ms: 2000, expected },
    '12 kB of about 240 MB, 6.0 kB/s, about 1 row/s, 11.1 h left',
  ],
  [
    'minutes',
    { bytes: 2_000_000, ms: 2000, expected },
    '2.0 MB of about 240 MB, 1.0 MB/s, about 200 rows/s, 4 min left',
  ],
  ['no end that was wrong', { bytes: 300_000_000, ms: 1000, expected }, '300 MB, 300 MB/s'],
  ['no end that nobody knows', { bytes: 999, ms: 1000, expected: undefined }, '999 B, 999 B/s'],
])('tells %s', (_what, progress, text) => {
  expect(estimateOf({ table, ...progress })).toBe(text);
});

it('prints sizes and numbers', () => {
  expect([0, 999, 1000, 9999, 10_000, 1e6, 2.5e9, 7e12, 7e15].map(bytesText)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '10.0 kB',
    '10 kB',
    '1.0 MB',
    '2.5 GB',
    '7.0 TB',
    '7000 TB',
  ]);
  expect([countText(1, 'row'), countText(0, 'table'), countText(1234567, 'row')]).toEqual([
    '1 row',
    '0 tables',
    '1,234,567 rows',
  ]);
});
