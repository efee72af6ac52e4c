import { expect, it } from '@jest/globals';
import { invalidIndexVerdicts } from './indexes.js';

const index = {
  name: 'i',
  table: 't',
  unique: false,
  primary: false,
  valid: false,
  building: false,
  partial: false,
  partitioned: false,
  columns: ['a'],
};

it.each([
  [{}, 'the index i is invalid, left by a concurrent build that failed: it is written and never read'],
  [
    { unique: true },
    'the index i is invalid, left by a concurrent build that failed: it is written and never read, and what it should keep unique is not',
  ],
  [{ valid: true }, undefined],
  [{ building: true }, undefined],
  [{ partitioned: true }, undefined],
])('%j', (change, reason) => {
  const found = invalidIndexVerdicts('shard:a', [{ ...index, ...change }]);
  expect(found.map((verdict) => verdict.reason)).toEqual(reason === undefined ? [] : [reason]);
});
