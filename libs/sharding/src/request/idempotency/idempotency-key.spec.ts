import { describe, expect, it } from '@jest/globals';
import { idempotencyKeyOf } from './idempotency-key.js';

const request = (...keys: string[]) => ({
  headers: {},
  rawHeaders: ['Host', 'x', ...keys.flatMap((key) => ['Idempotency-Key', key])],
});

describe('the key of a request', () => {
  it.each(['a', 'x'.repeat(255), 'b5c6f3a2-0000-4000-8000-000000000001', '~!"'])(
    'is taken verbatim: %s',
    (key) => {
      expect(idempotencyKeyOf(request(key), 'required')).toBe(key);
    },
  );

  it.each([[''], ['x'.repeat(256)], ['a b'], ['ä'], ['a\u0000'], ['one', 'two']])(
    'is refused: %p',
    (...keys) => {
      for (const use of ['required', 'optional'] as const) {
        expect(() => idempotencyKeyOf(request(...keys), use)).toThrow(
          'Idempotency-Key is one value of 1 to 255',
        );
      }
    },
  );

  it('may be left out only where it is optional', () => {
    expect(idempotencyKeyOf(request(), 'optional')).toBeUndefined();
    expect(() => idempotencyKeyOf(request(), 'required')).toThrow(
      'the request needs the header Idempotency-Key',
    );
  });
});
