import { expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { bytesBehind, parseLsn } from './lsn.js';

test.each([
  ['0/0', 0n],
  ['0/1700000', 0x1700000n],
  ['16/B374D848', 0x16_b374d848n],
  ['16/b374d848', 0x16_b374d848n],
  ['1/0', 1n << 32n],
  ['FFFFFFFF/FFFFFFFF', (1n << 64n) - 1n],
])('%s is %d', (text, lsn) => expect(parseLsn(text)).toBe(lsn));

test.each([
  '',
  '/',
  '1',
  '1/',
  '/1',
  'x/1',
  '1/x',
  ' 1/1',
  '1/1 ',
  '1/1/1',
  '-1/1',
  '123456789/1',
  '1/123456789',
  null,
  undefined,
  1,
  1n,
  {},
  ['1/1'],
])('%p is no position', (given) => expect(parseLsn(given)).toBeUndefined());

it('keeps the order of positions, also across 32 bits', () => {
  const half = fc.integer({ min: 0, max: 0xffffffff });
  const text = (high: number, low: number) => `${high.toString(16)}/${low.toString(16)}`.toUpperCase();
  fc.assert(
    fc.property(half, half, half, half, (a, b, c, d) => {
      const [one, other] = [parseLsn(text(a, b))!, parseLsn(text(c, d))!];
      expect(one < other).toBe(a < c || (a === c && b < d));
    }),
  );
});

test.each([
  ['0/10', '0/10', 0],
  ['0/20', '0/10', 0], // it was asked later
  ['0/F0', '0/FF', 15],
  ['0/FFFFFFFF', '1/0', 1],
  ['0', '1/0', undefined],
  [null, '1/0', undefined],
  ['0/1', undefined, undefined],
])('what is replayed up to %s and written up to %s is %s bytes behind', (replayed, written, bytes) =>
  expect(bytesBehind(replayed, written)).toBe(bytes),
);
