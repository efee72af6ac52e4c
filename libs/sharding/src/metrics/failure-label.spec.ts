import { expect, it } from '@jest/globals';
import { ShardingError } from '@app/routing';
import { failureLabel } from './failure-label.js';

it.each([
  [new ShardingError('shard_unavailable', 'x', { cause: { code: '57P01' } }), 'shard_unavailable'],
  [{ code: '23505' }, 'sqlstate_23'],
  [{ code: '57P01' }, 'sqlstate_57'],
  [{ code: 'ECONNREFUSED' }, 'other'],
  [{ code: 'tenant-acme' }, 'other'],
  [new TypeError('of the application'), 'other'],
  ['a string', 'other'],
])('%p is told as %s', (error, label) => expect(failureLabel(error)).toBe(label));
