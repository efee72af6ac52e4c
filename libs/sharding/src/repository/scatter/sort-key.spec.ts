import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keyedRow, rowOrder, type SortRule } from './sort-key.js';
import { UnknownLabel } from './values/key-value.js';
import type { KeyType } from './values/key-type.js';

const rule = (type: KeyType, direction: 'ASC' | 'DESC', nulls: 'first' | 'last'): SortRule => ({
  type,
  direction,
  nulls,
});
const INTEGER: KeyType = { kind: 'integer', sql: 'bigint' };

function sorted(
  rules: readonly SortRule[],
  rows: readonly (readonly (string | null)[])[],
): (string | null)[][] {
  const keyed = rows.map((texts, shard) => keyedRow(rules, texts, { shard, row: texts }));
  return keyed.toSorted(rowOrder(rules)).map(({ row }) => [...row]);
}

it.each([
  ['ASC', 'last', ['1', '2', null]],
  ['ASC', 'first', [null, '1', '2']],
  ['DESC', 'first', [null, '2', '1']],
  ['DESC', 'last', ['2', '1', null]],
] as const)('%s nulls %s', (direction, nulls, expected) => {
  expect(sorted([rule(INTEGER, direction, nulls)], [['2'], [null], ['1']]).flat()).toEqual(expected);
});

it.each<[KeyType, string[]]>([
  [INTEGER, ['-9223372036854775808', '9007199254740992', '9007199254740993']],
  [{ kind: 'numeric', sql: 'numeric' }, ['-Infinity', '-1', '0.1', '10', 'Infinity', 'NaN']],
  [{ kind: 'float', sql: 'real' }, ['-Infinity', '-1e+38', '0', '1e-45', 'Infinity', 'NaN']],
  [{ kind: 'boolean', sql: 'boolean' }, ['false', 'true']],
  [{ kind: 'bytea', sql: 'bytea' }, ['', '00', '0001', '00ff', 'ff']],
  [{ kind: 'enum', sql: 'mood', labels: ['sad', 'ok', 'happy'] }, ['sad', 'ok', 'happy']],
  [
    { kind: 'timestamptz', sql: 'timestamptz' },
    ['-Infinity', '-0.000002', '-0.000001', '1700000000.123456', 'Infinity'],
  ],
  [{ kind: 'text', sql: 'text' }, ['', 'A', 'a', 'ab', '\u00e9', '\ufffd', '\u{1f600}']],
])('orders %j', (type, ascending) => {
  const rows = ascending.toReversed().map((text) => [text]);
  expect(sorted([rule(type, 'ASC', 'last')], rows).flat()).toEqual(ascending);
  expect(sorted([rule(type, 'DESC', 'first')], rows.toReversed()).flat()).toEqual(ascending.toReversed());
});

it('holds -0 and 0, 1.0 and 1.00 for equal: the next key, then the shard decides', () => {
  const rules = [rule({ kind: 'float', sql: 'real' }, 'ASC', 'last'), rule(INTEGER, 'ASC', 'last')];
  expect(
    sorted(rules, [
      ['0', '2'],
      ['-0', '1'],
      ['-0', '2'],
    ]),
  ).toEqual([
    ['-0', '1'],
    ['0', '2'],
    ['-0', '2'],
  ]);
});

it('is a total order', () => {
  const rules = [rule(INTEGER, 'DESC', 'last'), rule({ kind: 'numeric', sql: 'numeric' }, 'ASC', 'first')];
  const text = fc.option(fc.constantFrom('1', '2', '3'), { nil: null });
  const row = fc.tuple(text, fc.oneof(text, fc.constantFrom('NaN', '1.0')));
  const compare = rowOrder(rules);
  fc.assert(
    fc.property(row, row, row, (...texts) => {
      const [a, b, c] = texts.map((pair, shard) => keyedRow(rules, pair, { shard, row: undefined }));
      expect(Math.sign(compare(a!, b!))).toBe(-Math.sign(compare(b!, a!)) + 0);
      if (compare(a!, b!) <= 0 && compare(b!, c!) <= 0) expect(compare(a!, c!)).toBeLessThanOrEqual(0);
    }),
  );
});

it('does not guess where an unknown label belongs', () => {
  const mood: KeyType = { kind: 'enum', sql: 'mood', labels: ['sad'] };
  expect(() => keyedRow([rule(mood, 'ASC', 'last')], ['new'], { shard: 0, row: 0 })).toThrow(UnknownLabel);
});
