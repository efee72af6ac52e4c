import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { operationOf, queryText } from './query-text.js';

describe('the text of a statement', () => {
  it.each([
    ['select * from "notes" where "id" = $1', 'select * from "notes" where "id" = $1'],
    ['select "a1"."b 2" from t1 where x2 = 3', 'select "a1"."b 2" from t1 where x2 = ?'],
    [`select 'a''b', E'c\\'d', x'ff', U&'e'`, 'select ?, ?, x?, U&?'],
    [`insert into t values (1, -2.5, 1e-7, .5, 0xFF, 1_000)`, 'insert into t values (?, -?, ?, ?, ?, ?)'],
    ['select $$secret$$, $a$se$$cret$a$, $12', 'select ?, ?, $12'],
    ['select 1 -- secret\n, 2 /* secret */', 'select ?  \n, ?  '],
    [`select 'never closed`, 'select ?'],
    ['select $x$never closed', 'select ?'],
    ['select /* never closed', 'select  '],
    ['limit 10 offset 20', 'limit ? offset ?'],
    [
      "select \"name with 'quote\" from t where a = 'secret'",
      'select "name with \'quote" from t where a = ?',
    ],
  ])('%s', (sql, text) => expect(queryText(sql)).toBe(text));

  it('is cut where it is long, also within a literal', () => {
    expect(queryText(`select '${'secret'.repeat(1000)}'`)).toBe('select ?...');
    expect(queryText('x'.repeat(5000))).toHaveLength(2003);
  });

  it('never has what stands in a literal (any literal)', () => {
    const literal = fc.string().map((value) => `'SECRET${value.replaceAll("'", "''")}SECRET'`);
    fc.assert(
      fc.property(fc.array(literal), (values) => {
        expect(queryText(`select ${values.join(', ')}`)).not.toContain('SECRET');
      }),
    );
  });
});

it.each([
  ['select 1', 'SELECT'],
  ['  (select 1)', 'SELECT'],
  ['\nINSERT into t', 'INSERT'],
  ['-- a\n/* b */ /* c **/ update t', 'UPDATE'],
  ['/**/'.repeat(10_000), undefined],
  ['', undefined],
  ['?', undefined],
])('the operation of %j is %s', (text, operation) => expect(operationOf(text)).toBe(operation));
