import { expect, it } from '@jest/globals';
import { budgetVerdicts, type ServerBudget } from './connections.js';

const server: ServerBudget = {
  targets: ['shard:a', 'shard:b'],
  wanted: 24,
  max: 100,
  reserved: 3,
  used: 10,
};
const total = { total: 24, threshold: 100 };
const SERVER = 'the server of shard:a, shard:b, which takes';

it.each<[string, Partial<ServerBudget>, number, string[]]>([
  ['fits', {}, 1, []],
  ['fits exactly', { wanted: 97 }, 1, []],
  [
    'is too much for one process',
    { wanted: 98 },
    1,
    [`error one process may open 98 connections to ${SERVER} 97 (max_connections = 100, 3 reserved)`],
  ],
  ['fits for those that run', {}, 4, []],
  [
    'is too much for those that run',
    {},
    5,
    [
      `warning the 5 processes that run may open 120 connections to ${SERVER} 97 (max_connections = 100, 3 reserved)`,
    ],
  ],
  ['is not known to run anywhere', {}, 0, []],
  ['is in use', { used: 87 }, 1, []],
  [
    'is nearly all in use',
    { used: 88 },
    1,
    [`warning 88 connections are open to ${SERVER} 97 (max_connections = 100, 3 reserved)`],
  ],
])('what is wanted %s', (_what, change, processes, expected) => {
  const found = budgetVerdicts([{ ...server, ...change }], processes, total);
  expect(found.map(({ severity, target, reason }) => [target, `${severity} ${reason}`])).toEqual(
    expected.map((text) => ['shard:a', text]),
  );
});

it.each([
  [100, 100, 0],
  [101, 100, 1],
  [101, 0, 0],
])('of %i connections of one process and a threshold of %i it tells %i times', (sum, threshold, times) => {
  const found = budgetVerdicts([], 0, { total: sum, threshold });
  expect(found.map(({ target, severity }) => `${target} ${severity}`)).toEqual(
    Array.from({ length: times }, () => 'configuration warning'),
  );
});
