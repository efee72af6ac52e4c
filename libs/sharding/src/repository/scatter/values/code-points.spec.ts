import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compareCodePoints } from './code-points.js';

it('orders texts as their UTF-8 bytes', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('a', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}') }),
  );
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareCodePoints(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { numRuns: 1000 },
  );
});

it('is not the order of JavaScript', () => {
  expect(['\ufffd', '\u{1f600}'].toSorted()).toEqual(['\u{1f600}', '\ufffd']);
  expect(compareCodePoints('\u{1f600}', '\ufffd')).toBeGreaterThan(0);
});
