import { expect, it } from '@jest/globals';
import {
  And,
  Between,
  Equal,
  ILike,
  In,
  IsNull,
  LessThan,
  LessThanOrEqual,
  MoreThan,
  MoreThanOrEqual,
  Not,
  Or,
} from 'typeorm';
import { satisfies } from './having.js';
import type { KeyType } from '../values/key-type.js';

const INTEGER: KeyType = { kind: 'integer', sql: 'bigint' };
const test = (text: string | null, condition: unknown, type = INTEGER) =>
  satisfies({ name: 'n', text, type }, condition);

it.each<[string | null, unknown, boolean]>([
  ['3', 3, true],
  ['3', '3', true],
  ['3', 3n, true],
  ['3', 4, false],
  ['3', Equal(3), true],
  ['3', Not(3), false],
  ['3', Not(Equal(4)), true],
  ['3', MoreThan(2.5), true],
  ['3', MoreThan(3), false],
  ['3', MoreThanOrEqual(3), true],
  ['3', LessThan(3), false],
  ['3', LessThanOrEqual(3), true],
  ['3', Between(1, 3), true],
  ['3', Not(Between(1, 3)), false],
  ['3', In([1, 3]), true],
  ['3', Not(In([1, 3])), false],
  ['3', IsNull(), false],
  ['3', Not(IsNull()), true],
  ['3', And(MoreThan(1), LessThan(3)), false],
  ['3', Or(MoreThan(5), LessThan(4)), true],
  ['9007199254740993', MoreThan('9007199254740992'), true],
  [null, IsNull(), true],
  [null, 3, false],
  [null, Not(3), false],
  [null, Not(In([3])), false],
  [null, Not(IsNull()), false],
])('%s with %j is %s', (text, condition, expected) => expect(test(text, condition)).toBe(expected));

it('refuses what it cannot evaluate as PostgreSQL would', () => {
  expect(() => test('3', ILike('3'))).toThrow(/give a function/);
  expect(() => test('3', MoreThan(null))).toThrow(/null/);
  expect(() => test('0', 1, { kind: 'timestamp', sql: 'timestamp' })).toThrow(/give a function/);
});
