import { describe, expect, it } from '@jest/globals';
import { jobData, MAX_PAYLOAD_BYTES, occurrenceId, routingKeyOf, singletonKeyOf } from './job-data.js';

describe('what the queue keeps of a job', () => {
  it.each(['', 'acme', '42', 42, -1, 9007199254740993n, new Uint8Array([0, 255])])(
    'gives its routing key back: %p',
    (key) => {
      const stored = JSON.parse(JSON.stringify(jobData({}, key))) as ReturnType<typeof jobData>;
      expect(routingKeyOf(stored)).toEqual(typeof key === 'object' ? Buffer.from(key) : key);
    },
  );

  it('has no key where none was given, and null for no payload', () => {
    expect(jobData(undefined, undefined)).toEqual({ payload: null });
    expect(routingKeyOf({ payload: null })).toBeUndefined();
  });

  it.each([1n, () => 1, 'x'.repeat(MAX_PAYLOAD_BYTES - 1)])(
    'refuses a payload that is no JSON, or too long',
    (payload) => {
      expect(() => jobData(payload, undefined)).toThrow('the payload of a job is JSON of up to 262144 bytes');
    },
  );

  it('takes a payload of the greatest length', () => {
    expect(() => jobData('x'.repeat(MAX_PAYLOAD_BYTES - 2), undefined)).not.toThrow();
  });
});

it('a singleton key is of its routing key', () => {
  const of = (key: string | number | undefined) => singletonKeyOf('reindex', jobData({}, key));
  expect(of('acme')).toBe(of('acme'));
  expect(new Set([of('acme'), of('1'), of(1), of(undefined)]).size).toBe(4);
});

it('an occurrence has one id, a UUID', () => {
  const id = occurrenceId('nightly', '2026-01-01T03:00:00.000Z');
  expect(id).toBe(occurrenceId('nightly', '2026-01-01T03:00:00.000Z'));
  expect(id).not.toBe(occurrenceId('nightly', '2026-01-02T03:00:00.000Z'));
  expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
});
