import { expect, it } from '@jest/globals';
import { dueTimes } from './due-time.js';

it.each([
  ['* * * * * *', 'UTC', '2026-01-01T00:00:05.000Z', '2026-01-01T00:00:05.000Z', '2026-01-01T00:00:06.000Z'],
  ['* * * * * *', 'UTC', '2026-01-01T00:00:05.300Z', '2026-01-01T00:00:05.000Z', '2026-01-01T00:00:06.000Z'],
  ['0 3 * * *', 'UTC', '2026-01-01T03:00:00.000Z', '2026-01-01T03:00:00.000Z', '2026-01-02T03:00:00.000Z'],
  ['0 3 * * *', 'UTC', '2026-01-01T02:59:59.999Z', '2025-12-31T03:00:00.000Z', '2026-01-01T03:00:00.000Z'],
  [
    '0 3 * * *',
    'Europe/Berlin',
    '2026-07-01T12:00:00.000Z',
    '2026-07-01T01:00:00.000Z',
    '2026-07-02T01:00:00.000Z',
  ],
  // a time that the clocks leave out does not come
  [
    '30 2 * * *',
    'Europe/Berlin',
    '2026-03-29T03:00:00.000Z',
    '2026-03-28T01:30:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ],
])('%s in %s at %s', (expression, timeZone, now, last, next) => {
  const due = dueTimes(expression, timeZone, new Date(now));
  expect([due.last.toISOString(), due.next.toISOString()]).toEqual([last, next]);
});
