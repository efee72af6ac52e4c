import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bareSql, controlsTransaction, firstWords } from './sql-text.js';

describe('SQL without what is no code', () => {
  it.each([
    [`select 1`, `select 1`],
    [`select ';' -- commit\n, 2`, `select   \n, 2`.replace('   ', '  ' + ' ')],
    [`a /* b /* c */ d */ e`, `a   e`],
    [`'it''s' x`, `  x`],
    [`E'it\\'s' x`, `  x`],
    [`'back\\' x '`, `  x  `],
    [`"a;""b" x`, `"" x`],
    [`$$ ; $$ x`, `  x`],
    [`$a$ $b$ ; $a$ x`, `  x`],
    [`a$b$c x`, `a$b$c x`],
    [`/* never ends ; commit`, ` `],
    [`'never ends ; commit`, ` `],
  ])('%j', (sql, bare) => expect(bareSql(sql).replace(/\s+/g, ' ')).toBe(bare.replace(/\s+/g, ' ')));

  it('is the same again (any text)', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'\'"$-/*;ae\\\n x') }), (text) => {
        const once = bareSql(text);
        expect(once.length).toBeLessThanOrEqual(text.length + 2 * text.split('"').length);
        expect(once).not.toContain("'");
      }),
    );
  });
});

describe('a statement that begins or ends a transaction', () => {
  it.each([
    'commit',
    ' COMMIT work',
    ';commit',
    '-- x\ncommit',
    '--x\rcommit',
    '/* a /* b */ c */ rollback',
    'select 1; commit',
    `select ';'; end`,
    'begin',
    'start  transaction read only',
    'abort',
    `prepare transaction 'x'`,
    'rollback work',
    `insert into t values ('a'); COMMIT; insert into t values ('b')`,
  ])('is %j', (sql) => expect(controlsTransaction(sql)).toBe(true));

  it.each([
    'savepoint a',
    'rollback to a',
    'ROLLBACK WORK TO SAVEPOINT a',
    'release a',
    `select 'commit'`,
    `select "commit" from "end"`,
    `select 1 /* ; commit */`,
    `do $$ begin perform 1; end $$`,
    `create function f() returns int language sql begin atomic select 1; end`,
    'select * from t where begins_at < now()',
    'prepare plan as select 1',
    'set local x = 1',
    `select case when a then 1 end from t`,
  ])('is not %j', (sql) => expect(controlsTransaction(sql)).toBe(false));
});

it.each([
  ['/* a */ -- b\n ; /**/ Rollback to x; ;select 1', ['rollback', 'select']],
  ['-- commit', []],
  ['(select 1)', []],
])('the first words of %j are %j', (sql, words) => expect(firstWords(sql)).toEqual(words));
