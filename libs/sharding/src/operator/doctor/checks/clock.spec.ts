import { expect, it } from '@jest/globals';
import { clockVerdicts } from './clock.js';

type Reading = [aheadMs: number, withinMs: number];

it.each<[string, Reading[], string[]]>([
  ['nothing to compare', [], []],
  [
    'in step',
    [
      [3, 1],
      [-900, 1],
      [90, 1],
    ],
    [],
  ],
  [
    'ahead',
    [
      [0, 1],
      [1600, 2],
    ],
    ['b: its clock is 1.6 s ahead of that of this machine'],
  ],
  ['behind', [[-3000, 2]], ['a: its clock is 3.0 s behind that of this machine']],
  ['what the round trip explains', [[1600, 700]], []],
  [
    'apart from each other',
    [
      [-700, 1],
      [700, 1],
      [0, 1],
    ],
    ['b: its clock is 1.4 s ahead of that of a'],
  ],
  [
    'apart within the round trips',
    [
      [-700, 300],
      [700, 300],
    ],
    [],
  ],
])('%s', (_what, readings, expected) => {
  const clocks = readings.map(([aheadMs, withinMs], at) => ({ target: 'abc'[at] ?? '', aheadMs, withinMs }));
  const found = clockVerdicts(clocks);
  expect(found.map(({ target, reason }) => `${target}: ${reason}`)).toEqual(expected);
  expect(found.every(({ severity }) => severity === 'warning')).toBe(true);
});
