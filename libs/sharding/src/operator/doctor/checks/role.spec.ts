import { expect, it } from '@jest/globals';
import { roleVerdict } from './role.js';

it.each([
  ['primary', false, false, undefined],
  ['primary', true, false, 'is configured as a primary and is a replica: every write fails'],
  ['primary', false, true, 'takes no writes (default_transaction_read_only is on)'],
  ['replica', true, false, undefined],
  ['replica', true, true, undefined],
  [
    'replica',
    false,
    false,
    'is configured as a replica and is none: it takes writes of its own, and follows nobody',
  ],
] as const)('a %s; in recovery: %s, read only: %s', (configured, recovering, readOnly, reason) => {
  const verdict = roleVerdict('shard:a', configured, { recovering, readOnly });
  expect(verdict?.reason).toBe(reason);
  if (verdict) expect(verdict.severity).toBe('error');
});
