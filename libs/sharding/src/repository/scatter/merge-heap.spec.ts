import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mergeSorted } from './merge-heap.js';

const byNumber = (a: number, b: number) => a - b;

it('merges sorted lists as sorting all of them does', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.integer({ min: 0, max: 20 })), { maxLength: 10 }), (lists) => {
      const sorted = lists.map((list) => list.toSorted(byNumber));
      expect([...mergeSorted(sorted, byNumber)]).toEqual(lists.flat().toSorted(byNumber));
    }),
  );
});

it('compares only for what is asked for', () => {
  let compared = 0;
  const lists = Array.from({ length: 8 }, (_, n) => Array.from({ length: 1000 }, (_value, at) => 8 * at + n));
  const merged = mergeSorted(lists, (a, b) => {
    compared++;
    return a - b;
  });
  expect([merged.next().value, merged.next().value, merged.next().value]).toEqual([0, 1, 2]);
  expect(compared).toBeLessThan(60);
});
