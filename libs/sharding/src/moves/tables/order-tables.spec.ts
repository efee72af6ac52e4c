import { describe, expect, test } from '@jest/globals';
import { orderTables } from './order-tables.js';

/** `a>b`: a refers to b. */
const order = (tables: string, references: string): string =>
  orderTables(
    tables.split(' '),
    references
      .split(' ')
      .filter((text) => text !== '')
      .map((text) => ({ from: text.slice(0, 1), to: text.slice(2) })),
  )
    .map((group) => group.join('+'))
    .join(' ');

describe('a table comes after those that it refers to', () => {
  test.each([
    ['none', 'a b c', '', 'a b c'],
    ['one', 'a b c', 'a>c', 'c a b'],
    ['a chain', 'a b c', 'a>b b>c', 'c b a'],
    ['a diamond', 'a b c d', 'a>b a>c b>d c>d', 'd b c a'],
    ['itself', 'a b', 'a>a', 'a b'],
    ['each other', 'a b c', 'a>b b>a', 'a+b c'],
    ['each other in a ring, and another', 'a b c d', 'a>b b>c c>a b>d', 'd a+b+c'],
    ['each other, and referred to', 'a b c', 'b>c c>b a>b', 'b+c a'],
    ['two rings', 'a b c d', 'a>b b>a c>d d>c a>c', 'c+d a+b'],
    ['an unknown one', 'a', 'a>x y>a', 'a'],
  ])('%s', (_what, tables, references, ordered) => expect(order(tables, references)).toBe(ordered));
});
