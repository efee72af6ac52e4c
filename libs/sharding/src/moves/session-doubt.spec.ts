import { expect, it } from '@jest/globals';
import { doubtOf, type Awaited, type SessionLook } from './session-doubt.js';

const WORKING: SessionLook = { state: 'active', since: '1', waits: null, copied: 0 };
const looksOf = (look: Partial<SessionLook>, awaited: Awaited) =>
  doubtOf({ ...WORKING, ...look }, awaited)?.looks;

it.each([
  ['a statement that runs', {}, 'answer', undefined],
  ['a statement that waits for a lock', { waits: 'Lock' }, 'answer', undefined],
  ['a statement that reads a disk', { waits: 'IO' }, 'answer', undefined],
  [
    'a session that nobody has asked',
    { state: 'idle in transaction', waits: 'Client' },
    'nothing',
    undefined,
  ],
  ['a COPY that waits for rows that are not there yet', { waits: 'Client' }, 'nothing', undefined],
  ['a COPY that works on its last rows', {}, 'answer', undefined],
  ['a COPY whose row waits for a lock', { waits: 'Lock' }, 'uptake', undefined],
  ['a COPY that takes no more rows', { waits: 'IO' }, 'uptake', 60],
  ['an answer that did not arrive', { state: 'idle', waits: 'Client' }, 'answer', 2],
  ['the same in a transaction', { state: 'idle in transaction', waits: 'Client' }, 'answer', 2],
  ['the same of a COPY', { state: 'idle in transaction (aborted)', waits: 'Client' }, 'uptake', 2],
  ['a COPY that waits for rows that were sent', { waits: 'Client' }, 'uptake', 2],
  ['a COPY that waits for its end, which was sent', { waits: 'Client' }, 'answer', 2],
  ['a server that tells nothing of its sessions', { state: 'disabled', waits: null }, 'answer', undefined],
] as const)('%s', (_what, look, awaited, looks) => {
  expect(looksOf(look, awaited)).toBe(looks);
});

it('is the same doubt as long as nothing moves', () => {
  const evidence = (look: Partial<SessionLook>) =>
    doubtOf({ ...WORKING, waits: 'Client', ...look }, 'answer')?.evidence;
  expect(evidence({})).toBe(evidence({}));
  expect(evidence({ copied: 1 })).not.toBe(evidence({}));
  expect(evidence({ since: '2' })).not.toBe(evidence({}));
});
