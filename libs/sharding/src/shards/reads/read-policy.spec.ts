import { expect, test } from '@jest/globals';
import { readTarget, replicaOnlyTarget } from './read-policy.js';

test.each([
  ['none', 'primary', 'primary'],
  ['none', 'fail_readiness', 'primary'],
  ['ready', 'primary', 'replica'],
  ['ready', 'fail_readiness', 'replica'],
  ['unready', 'primary', 'primary'],
  ['unready', 'fail_readiness', 'unavailable'],
] as const)('replica %s, fallback %s: a read goes to %s', (replica, fallback, target) =>
  expect(readTarget(replica, fallback)).toBe(target),
);

test.each([
  ['none', 'unavailable'],
  ['ready', 'replica'],
  ['unready', 'unavailable'],
] as const)('replica %s: a read of the replica alone goes to %s', (replica, target) =>
  expect(replicaOnlyTarget(replica)).toBe(target),
);
