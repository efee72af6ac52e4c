import { expect, it } from '@jest/globals';
import { And, Between, Equal, In, IsNull, LessThan, Not, Or, Raw } from 'typeorm';
import { assertWhere } from './where-check.js';

it.each([
  [undefined],
  [null],
  [{ a: undefined }],
  [{ a: null }],
  [[{ a: 1 }, { a: null }]],
  [{ a: { b: undefined } }],
  [{ a: Not(undefined) }],
  [{ a: Equal(null) }],
  [{ a: In([1, null]) }],
  [{ a: Between(1, undefined) }],
  [{ a: Or(Equal(1), LessThan(undefined)) }],
  [{ a: Not(In([undefined])) }],
  [Object.assign(Object.create(null) as object, { a: null })],
])('refuses %j', (where) => expect(() => assertWhere(where)).toThrow(/undefined|null/));

it.each([
  [{}],
  [[]],
  [{ a: 1, b: '', c: 0, d: false }],
  [{ a: IsNull() }],
  [{ a: Not(IsNull()) }],
  [{ a: In([]) }],
  [{ a: Raw('1') }],
  [{ a: And(LessThan(1), Not(0)) }],
  [{ a: new Date() }],
  [{ a: Buffer.from('x') }],
])('lets %j pass', (where) => expect(() => assertWhere(where)).not.toThrow());

it('names the place', () => {
  expect(() => assertWhere({ author: [{ name: Not(null) }] })).toThrow('where.author[0].name (not) is null');
});
