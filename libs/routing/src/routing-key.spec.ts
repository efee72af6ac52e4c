import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { assertRoutingKey, routingKeyProblem, slotOf, type RoutingKey } from './index.js';

const ACCEPTED =
  'a routing key is a string, a safe integer, a bigint of 64 signed bits or a Uint8Array; got ';

describe('a routing key', () => {
  it.each<[RoutingKey]>([
    ['acme'],
    [''],
    [' acme'],
    ['__proto__'],
    ['constructor'],
    ['münchen🏢'],
    [0],
    [-1],
    [Number.MAX_SAFE_INTEGER],
    [Number.MIN_SAFE_INTEGER],
    [2n ** 63n - 1n],
    [-(2n ** 63n)],
    [new Uint8Array()],
    [Buffer.from('acme')],
  ])('may be %p', (key) => {
    expect(routingKeyProblem(key)).toBeUndefined();
    expect(() => assertRoutingKey(key)).not.toThrow();
    expect(slotOf(key)).toBeGreaterThanOrEqual(0);
  });

  it.each<[string, unknown, string]>([
    ['NaN', NaN, 'a number that is not finite'],
    ['Infinity', Infinity, 'a number that is not finite'],
    ['-Infinity', -Infinity, 'a number that is not finite'],
    ['42.5', 42.5, 'a number with a fraction'],
    ['-0', -0, '-0; use 0'],
    ['2^53', 2 ** 53, 'an integer beyond Number.MAX_SAFE_INTEGER; pass it as a bigint'],
    ['-2^53', -(2 ** 53), 'an integer beyond Number.MAX_SAFE_INTEGER; pass it as a bigint'],
    ['2n^63', 2n ** 63n, 'a bigint beyond 64 signed bits'],
    ['-2n^63-1', -(2n ** 63n) - 1n, 'a bigint beyond 64 signed bits'],
    ['a high surrogate', '\ud800', 'a string that is not well-formed (lone surrogate)'],
    ['a low surrogate', '\udfff', 'a string that is not well-formed (lone surrogate)'],
    ['swapped surrogates', 'a\udfff\ud800', 'a string that is not well-formed (lone surrogate)'],
    ['NUL in ASCII', 'a\u0000b', 'a string that contains NUL, which PostgreSQL cannot store'],
    ['NUL after other text', 'é\u0000', 'a string that contains NUL, which PostgreSQL cannot store'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
    ['true', true, 'a boolean'],
    ['an object', { toString: () => 'acme' }, 'an object'],
    ['a String object', new String('acme'), 'an object'],
    ['a Date', new Date(0), 'an object'],
    ['an array', [1], 'an array'],
    ['a symbol', Symbol('acme'), 'a symbol'],
    ['a function', () => 'acme', 'a function'],
    ['an ArrayBuffer', new ArrayBuffer(4), 'an object'],
    ['a Uint16Array', new Uint16Array(2), 'an object'],
    ['a DataView', new DataView(new ArrayBuffer(4)), 'an object'],
    ['a fake Uint8Array', { [Symbol.toStringTag]: 'Uint8Array', length: 1, 0: 1 }, 'an object'],
  ])('must not be %s', (_, key, got) => {
    const refused = expect.objectContaining({ code: 'invalid_routing_key', message: ACCEPTED + got });
    expect(routingKeyProblem(key)).toBe(ACCEPTED + got);
    expect(() => assertRoutingKey(key)).toThrow(refused);
    expect(() => slotOf(key as RoutingKey)).toThrow(refused);
  });

  it('must not hold NUL or half a surrogate pair at any position of any length', () => {
    const refused = expect.objectContaining({ code: 'invalid_routing_key' });
    for (let length = 1; length <= 13; length++) {
      for (let at = 0; at < length; at++) {
        for (const bad of ['\u0000', '\ud800', '\udfff']) {
          const key = `${'a'.repeat(at)}${bad}${'a'.repeat(length - at - 1)}`;
          expect(() => slotOf(key)).toThrow(refused);
        }
      }
    }
  });

  it('may be bytes made in another realm', () => {
    const foreign: unknown = runInNewContext('Uint8Array.of(0x61)');
    expect(foreign instanceof Uint8Array).toBe(false);
    expect(routingKeyProblem(foreign)).toBeUndefined();
    expect(slotOf(foreign as Uint8Array)).toBe(slotOf('a'));
  });

  it('is never echoed in a message', () => {
    for (const key of ['secret\u0000', 'secret\ud800', 'secret'.repeat(1000) + '\ud800']) {
      expect(routingKeyProblem(key)).not.toContain('secret');
    }
  });

  it('is accepted by slotOf exactly when it has no problem', () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.string({ unit: utf16Unit }),
      fc.double(),
      fc.bigInt(-(2n ** 65n), 2n ** 65n),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const attempt = () => slotOf(value as RoutingKey);
        if (routingKeyProblem(value) === undefined) expect(attempt()).toBe(attempt());
        else expect(attempt).toThrow(expect.objectContaining({ code: 'invalid_routing_key' }));
      }),
      { numRuns: 5000 },
    );
  });
});

/** Any UTF-16 code unit, halves of surrogate pairs and NUL included, with the interesting ones more often. */
const utf16Unit = fc
  .oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.constantFrom(0, 0x7f, 0x80, 0x7ff, 0x800, 0xd800, 0xdbff, 0xdc00, 0xdfff),
  )
  .map((unit) => String.fromCharCode(unit));
