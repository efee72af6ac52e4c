import { describe, expect, it, test } from '@jest/globals';
import { comparisonText, differenceLine } from './schema-text.js';
import type { Fact, Variant } from '@app/sharding/operator';

const variant = (value: Fact, ...shards: string[]): Variant => ({ value, shards });
const line = (property: string, odd: readonly Variant[], majority: Variant | null = null) =>
  differenceLine({ kind: 'table', name: 't', property, odd, majority });

describe('whether it exists', () => {
  test.each([
    ['missing on b', [variant(false, 'b')], variant(true, 'a', 'c')],
    ['only on b, c', [variant(true, 'b', 'c')], variant(false, 'a', 'd', 'e')],
    ['on a; missing on b', [variant(true, 'a'), variant(false, 'b')], null],
  ])('%s', (words, odd, majority) => expect(line('exists', odd, majority)).toBe(`table t: ${words}`));
});

describe('values', () => {
  const long = (end: string) => `${'x'.repeat(90)}${end}`;
  test.each<[string, Variant[], Variant | null]>([
    ['n = 1 on b, else 2', [variant('1', 'b')], variant('2', 'a', 'c')],
    ['n = yes on b; none on d, else no', [variant(true, 'b'), variant(null, 'd')], variant(false, 'a', 'c', 'e')],
    ['n = a, b on x; b, a on y', [variant(['a', 'b'], 'x'), variant(['b', 'a'], 'y')], null],
    ['n line 2 = "b" on x; "c" on y', [variant('a\n  b\n', 'x'), variant('a\n  c\nd', 'y')], null],
    ['n line 2 = (is not there) on x; "b" on y', [variant('a', 'x'), variant('a\nb', 'y')], null],
    [`n = "...${'x'.repeat(20)}1" on x; "...${'x'.repeat(20)}2" on y`, [variant(long('1'), 'x'), variant(long('2'), 'y')], null],
    [
      `n = "a${'x'.repeat(79)}..." on x; "${'x'.repeat(80)}..." on y`,
      [variant(`a${long('')}`, 'x'), variant(long(''), 'y')],
      null,
    ],
    ['n line 1 = "\\u001b[31m" on x; "" on y', [variant('\u001b[31m\na', 'x'), variant('\na', 'y')], null],
  ])('%s', (words, odd, majority) => expect(line('n', odd, majority)).toBe(`table t: ${words}`)); // prettier-ignore
});

it('is a title with a line for each difference and each shard that failed', () => {
  const differences = [
    { kind: 'table', name: 't', property: 'exists', majority: null, odd: [variant(true, 'a')] },
  ] as const;
  const failed = [{ shard: 'c', error: { code: '55P03', message: 'is\nlocked' } }];
  expect(comparisonText({ compared: ['a', 'b'], failed, differences })).toBe(
    '2 shards compared, 1 difference\ntable t: on a\nc: FAILED, is\\x0alocked (55P03)',
  );
  expect(comparisonText({ compared: ['a', 'b'], failed: [], differences: [] })).toBe(
    '2 shards compared, no differences',
  );
  expect(comparisonText({ compared: ['a'], failed: [], differences: [] })).toBe(
    '1 shard read, nothing to compare',
  );
});
