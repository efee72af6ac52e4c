import { expect, it } from '@jest/globals';
import { ShardingError } from '@app/routing';
import { failureText } from './failure-text.js';
import { retryDelayMs } from './retry-delay.js';

const BACKOFF = { firstMs: 1000, mostMs: 300_000 };

it.each([
  [1, 0, 500],
  [1, 1, 1000],
  [2, 1, 2000],
  [5, 0, 8000],
  [9, 1, 256_000],
  [10, 1, 300_000],
  [1_000_000, 0, 150_000],
])('after %i failed attempts, by chance %d, an event waits for %i ms', (attempts, chance, ms) =>
  expect(retryDelayMs(BACKOFF, attempts, chance)).toBe(ms),
);

it.each([
  [new ShardingError('shard_moved', 'of acme'), 'shard_moved'],
  [new TypeError('acme owes 5'), 'TypeError'],
  [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'Error ECONNREFUSED'],
  [
    Object.assign(new Error('x'), { name: 'QueryFailedError', driverError: { code: '23505' } }),
    'QueryFailedError 23505',
  ],
  [Object.assign(new Error('x'), { name: 'acme owes 5' }), 'Error'],
  ['acme owes 5', 'string'],
  [null, 'object'],
])('of the failure %p it is stored: %s', (error, text) => expect(failureText(error)).toBe(text));
