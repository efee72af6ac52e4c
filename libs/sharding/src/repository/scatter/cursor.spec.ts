import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Cursors, bindingOf } from './cursor.js';

const cursors = new Cursors('secret');
const position = fc.record({
  shard: fc.nat(100),
  texts: fc.array(fc.option(fc.string({ unit: 'grapheme' }), { nil: null }), { minLength: 1 }),
});

it('gives back what it has signed, for the same binding alone', () => {
  fc.assert(
    fc.property(position, fc.string(), fc.string(), (at, binding, other) => {
      const cursor = cursors.write(at, binding);
      expect(cursors.read(cursor, binding)).toEqual(at);
      expect(new Cursors('secret').read(cursor, binding)).toEqual(at);
      if (other !== binding) expect(() => cursors.read(cursor, other)).toThrow('of another query');
      expect(() => new Cursors('other').read(cursor, binding)).toThrow(/tampered/);
    }),
  );
});

it('takes no other text', () => {
  const given = fc.oneof(
    fc.string(),
    fc.anything(),
    fc.string().map((body) => `v1.${'A'.repeat(43)}.${body}`),
  );
  fc.assert(fc.property(given, (cursor) => expect(() => cursors.read(cursor, 'x')).toThrow(/tampered/)));
});

it('signs with a key of its own where there is no secret', () => {
  const cursor = new Cursors(undefined).write({ shard: 0, texts: ['1'] }, 'x');
  expect(() => new Cursors(undefined).read(cursor, 'x')).toThrow(/tampered/);
});

it('binds to parts that cannot be shifted into each other', () => {
  expect(bindingOf(['a', 'bc'])).not.toBe(bindingOf(['ab', 'c']));
  expect(bindingOf(['a', ''])).not.toBe(bindingOf(['a']));
});
