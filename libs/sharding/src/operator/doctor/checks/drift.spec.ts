import { expect, it } from '@jest/globals';
import { driftVerdicts } from './drift.js';
import type { SchemaObject } from '../../schema/schema-object.js';

const object = (name: string, facts: SchemaObject['facts'] = {}): SchemaObject => ({
  kind: 'table',
  name,
  within: [],
  inherits: null,
  facts,
});
const judged = (...shards: SchemaObject[][]) =>
  driftVerdicts(shards.map((objects, index) => ({ shard: 'abc'[index] ?? '', objects }))).map(
    ({ target, reason }) => `${target} ${reason}`,
  );
const OTHER = 'its schema is not that of the other shards:';

it('says nothing of equal shards', () => {
  expect(judged([object('t')], [object('t')], [object('t')])).toEqual([]);
});

it('names the shard that is not as most are', () => {
  expect(judged([], [object('t')], [object('t')])).toEqual([`a ${OTHER} table t (missing)`]);
  expect(judged([object('t')], [], [])).toEqual([`a ${OTHER} table t (only here)`]);
});

it('takes the first of two for usual, and counts what it does not name', () => {
  expect(judged([object('t', { unlogged: false })], [object('t', { unlogged: true })])).toEqual([
    `b ${OTHER} table t (unlogged)`,
  ]);
  expect(
    judged(
      [],
      ['p', 'q', 'r', 's', 't'].map((name) => object(name)),
    ),
  ).toEqual([`b ${OTHER} table p (only here); table q (only here); table r (only here); 2 more`]);
});
