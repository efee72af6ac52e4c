import { expect, it } from '@jest/globals';
import { unique } from '../one-statement.js';
import { answersText, merge, mergedText, objects } from './query-answers.js';
import type { Rows } from '../one-statement.js';
import type { ShardAnswer } from '../query-shards.js';

function rows(columns: string[], values: unknown[][], more: Partial<Rows> = {}): Rows {
  return { command: 'SELECT', columns, rows: values, rowCount: values.length, truncated: false, ...more };
}
const ok = (shard: string, found: Rows): ShardAnswer => ({ shard, ok: true, rows: found });
const bad = (shard: string): ShardAnswer => ({ shard, ok: false, error: { code: 'XX', message: 'is gone' } });

it.each([
  [[], []],
  [
    ['a', 'a', 'b', 'a'],
    ['a', 'a_2', 'b', 'a_3'],
  ],
  [
    ['a_2', 'a', 'a'],
    ['a_2', 'a', 'a_3'],
  ],
])('columns %j are called %j', (names, wanted) => expect(unique(names)).toEqual(wanted));

it('shows each shard under its heading', () => {
  const answers = [
    ok('s0', rows(['n', 'j'], [[1, null], [22, { a: 1 }]])), // prettier-ignore
    bad('s1'),
    ok('s2', rows([], [], { command: 'UPDATE', rowCount: 3 })),
    ok('s3', rows([], [], { command: 'CREATE', rowCount: null })),
    ok('s4', rows(['n'], [[1]], { truncated: true })),
    ok('s5', rows(['n'], [])),
  ];
  expect(answersText(answers)).toBe(
    [
      's0: 2 rows\n n  j\n 1  null\n22  {"a":1}',
      's1: FAILED, is gone (XX)',
      's2: UPDATE, 3 rows',
      's3: CREATE',
      's4: the first 1 rows\nn\n1',
      's5: 0 rows\nn',
    ].join('\n\n'),
  );
});

it('merges with the shard in front, under another name where the rows have a column "shard"', () => {
  const merged = merge([bad('s0'), ok('s1', rows(['shard'], [['x']])), ok('s2', rows(['shard'], [['y']]))]);
  expect(mergedText(merged)).toBe('on_shard  shard\ns1        x\ns2        y\ns0: FAILED, is gone (XX)');
  expect(objects(merged.columns, merged.rows)).toEqual([
    { on_shard: 's1', shard: 'x' },
    { on_shard: 's2', shard: 'y' },
  ]);
});

it('merges no rows of other columns', () => {
  const { failed } = merge([ok('s0', rows(['a'], [])), ok('s1', rows(['b'], [[1]]))]);
  expect(failed).toEqual([
    {
      shard: 's1',
      ok: false,
      error: { code: 'different_columns', message: 'its columns are not those of the first shard: b' },
    },
  ]);
});

it('says so where all shards have failed', () => {
  expect(mergedText(merge([bad('s0')]))).toBe('no rows\ns0: FAILED, is gone (XX)');
});
