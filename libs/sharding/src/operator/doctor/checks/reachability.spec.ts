import { expect, it } from '@jest/globals';
import { unreachable } from './reachability.js';
import type { Way } from '../../place.js';

const way = (name: Way['name']) => ({ name, place: { label: 'shard:a' } }) as Way;

it.each([
  ['url', 'ECONNREFUSED', 'nothing listens there', 'cannot be reached: nothing listens there (ECONNREFUSED)'],
  ['url', 'timeout', 'x', 'cannot be reached: no answer within 700 ms (timeout)'],
  [
    'maintenance_url',
    '28P01',
    'the password was refused',
    'cannot be reached by its maintenance_url: the password was refused (28P01)',
  ],
] as const)('%s, %s', (name, code, message, reason) => {
  expect(unreachable(way(name), { code, message }, 700)).toMatchObject({
    severity: 'error',
    target: 'shard:a',
    reason,
  });
});
