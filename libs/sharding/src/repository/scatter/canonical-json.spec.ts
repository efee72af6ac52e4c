import { expect, it } from '@jest/globals';
import { Between, Equal, In, IsNull, MoreThan, Not, Raw } from 'typeorm';
import { canonicalJson } from './canonical-json.js';

it.each([
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ],
  [{ a: { c: 1, b: [1, 2] } }, { a: { b: [1, 2], c: 1 } }],
  [Not(In([1, 2])), Not(In([1, 2]))],
  [new Date(5), new Date(5)],
  [Buffer.from('x'), Buffer.from('x')],
  [Raw((alias) => `${alias} > :a`, { a: 1 }), Raw((name) => `${name} > :a`, { a: 1 })],
])('is the same for %#', (a, b) => expect(canonicalJson(a)).toBe(canonicalJson(b)));

const different: readonly unknown[] = [
  1,
  '1',
  1n,
  null,
  0,
  -0,
  Number.NaN,
  [1],
  { 0: 1 },
  new Date(1),
  new Date(2),
  Equal(1),
  MoreThan(1),
  Not(1),
  Not(MoreThan(1)),
  In([1, 2]),
  In([2, 1]),
  Between(1, 2),
  IsNull(),
  Not(IsNull()),
  Buffer.from('x'),
  Buffer.from('y'),
  ['bigint', '1'],
  ['operator', 'equal', 1],
  Raw('a'),
  Raw('b'),
  Raw(() => 'a', { a: 1 }),
  Raw(() => 'a', { a: 2 }),
  { a: 1 },
  { a: '1' },
  {},
];

it('is different for what is different', () => {
  const texts = different.map((value) => canonicalJson(value));
  expect(new Set(texts).size).toBe(different.length);
});

it('keeps the order of the keys where it matters', () => {
  expect(canonicalJson({ a: 1, b: 2 }, 'as given')).not.toBe(canonicalJson({ b: 2, a: 1 }, 'as given'));
});
