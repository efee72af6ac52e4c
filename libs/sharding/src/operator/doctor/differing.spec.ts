import { expect, it } from '@jest/globals';
import { differing } from './differing.js';

it.each<[string, string, string]>([
  ['', '', ''],
  ['a', '', ''],
  ['aaa', '', ''],
  ['aba', '1', 'a'],
  ['abb', '0', 'b'],
  ['ab', '1', 'a'],
  ['abcb', '02', 'b'],
])('of %j those at %j are not as the others, which say %j', (values, odd, usual) => {
  const found = differing([...values].map((value, by) => ({ value, by })));
  expect(found.map(({ odd: { by } }) => by).join('')).toBe(odd);
  expect(new Set(found.map((one) => one.usual))).toEqual(new Set(usual === '' ? [] : [usual]));
});
