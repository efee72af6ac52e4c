import { expect, it } from '@jest/globals';
import { keysetCondition } from './keyset.js';
import type { SortKey } from './sort-key.js';

const key = (sql: string, more: Partial<SortKey> = {}): SortKey => ({
  sql,
  path: sql,
  nullable: false,
  type: { kind: 'integer', sql: 'bigint' },
  direction: 'ASC',
  nulls: 'last',
  ...more,
});
const v = (index: number, type = 'bigint') => `cast(:scatter_after_${index} as ${type})`;

it.each([
  ['after', '>'],
  ['at', '>='],
] as const)(
  '%s a position is a row comparison where all columns go up and none is null',
  (from, operator) => {
    const condition = keysetCondition([key('a'), key('id')], { texts: ['1', '2'], from });
    expect(condition).toEqual({
      sql: `(a, id) ${operator} (${v(0)}, ${v(1)})`,
      parameters: { scatter_after_0: '1', scatter_after_1: '2' },
    });
  },
);

it('goes down with the opposite operator', () => {
  const keys = [key('a', { direction: 'DESC', nulls: 'first' }), key('id', { direction: 'DESC' })];
  expect(keysetCondition(keys, { texts: ['1', '2'], from: 'after' }).sql).toBe(
    `(a, id) < (${v(0)}, ${v(1)})`,
  );
});

it.each<[string, Partial<SortKey>, string | null, string]>([
  [
    'mixed directions',
    { direction: 'DESC' },
    '1',
    `a <= ${v(0)} and ((a < ${v(0)}) or (a = ${v(0)} and id > ${v(1)}))`,
  ],
  [
    'nulls last, before them',
    { nullable: true },
    '1',
    `(a >= ${v(0)} or a is null) and (((a > ${v(0)} or a is null)) or (a = ${v(0)} and id > ${v(1)}))`,
  ],
  [
    'nulls last, among them',
    { nullable: true },
    null,
    `a is null and ((false) or (a is null and id > ${v(1)}))`,
  ],
  [
    'nulls first, among them',
    { nullable: true, nulls: 'first' },
    null,
    `true and ((a is not null) or (a is null and id > ${v(1)}))`,
  ],
  [
    'nulls first, behind them',
    { nullable: true, nulls: 'first' },
    '1',
    `a >= ${v(0)} and ((a > ${v(0)}) or (a = ${v(0)} and id > ${v(1)}))`,
  ],
])('%s', (_name, more, text, sql) => {
  expect(keysetCondition([key('a', more), key('id')], { texts: [text, '2'], from: 'after' }).sql).toBe(sql);
});

it('adds the position itself for shards that are declared later', () => {
  const keys = [key('a', { nullable: true }), key('id')];
  const { sql } = keysetCondition(keys, { texts: [null, '2'], from: 'at' });
  expect(sql).toMatch(/ or \(a is null and id = cast\(:scatter_after_1 as bigint\)\)\)$/);
});

it('carries values as the server reads them, and text under the collation "C"', () => {
  const keys = [
    key('t', { type: { kind: 'text', sql: 'text' } }),
    key('b', { type: { kind: 'bytea', sql: 'bytea' } }),
    key('m', { type: { kind: 'timestamptz', sql: 'timestamp with time zone' } }),
  ];
  const { sql, parameters } = keysetCondition(keys, { texts: ["it's", '00ff', '0.000001'], from: 'after' });
  expect(sql).toBe(
    `(t collate "C", b, m) > (${v(0, 'text')}, ${v(1, 'bytea')}, ${v(2, 'timestamp with time zone')})`,
  );
  expect(Object.values(parameters)).toEqual(["it's", '\\x00ff', '1970-01-01 00:00:00.000001+00']);
});
