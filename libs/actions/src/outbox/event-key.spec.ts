import { expect, test } from '@jest/globals';
import { eventKey, keptKey } from './event-key.js';

test.each([
  ['nothing', undefined, undefined],
  ['a text', 'acme', 'acme'],
  ['the empty text', '', ''],
  ['a text of digits', '42', '42'],
  ['bytes, as their text', Buffer.from('acmé'), 'acmé'],
  ['a number', 42, 42],
  ['a negative number', -7, -7],
  ['a bigint that is as safe as a number', 42n, 42],
  ['a bigint', 2n ** 63n - 1n, 2n ** 63n - 1n],
])('%s is kept and given back', (_what, key, again) => {
  const kept = JSON.parse(JSON.stringify(eventKey(key))) as ReturnType<typeof eventKey>;
  expect(keptKey(kept)).toBe(again);
});
