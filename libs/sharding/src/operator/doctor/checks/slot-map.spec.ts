import { expect, it } from '@jest/globals';
import { slotMapVerdicts } from './slot-map.js';

it.each([
  [{ outcome: 'unchanged' }, []],
  [
    { outcome: 'record', version: 1 },
    [['info', 'remembers no slot map yet: the next boot records it as version 1']],
  ],
  [
    { outcome: 'record', version: 8 },
    [['info', 'does not remember this slot map yet: the next boot records it as version 8']],
  ],
  [{ outcome: 'record', version: 8, warning: 'a\n  b' }, [['warning', 'a\n  b']]],
  [{ outcome: 'refuse', reason: 'c\n  d' }, [['error', 'c\n  d']]],
] as const)('%j', (verdict, expected) => {
  expect(slotMapVerdicts(verdict).map(({ severity, reason }) => [severity, reason])).toEqual(expected);
});
