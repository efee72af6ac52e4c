import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { isPureRead } from './pure-read.js';

describe('a read', () => {
  test.each([
    'select 1',
    '  SELECT * from notes where id = $1',
    'table notes',
    "values (1, 'a'), (2, 'b')",
    'show transaction_isolation',
    'with x as (select 1) select * from x',
    'with recursive x(n) as (select 1 union all select n + 1 from x where n < 3) select n from x'.replace(
      'x(n)',
      'x',
    ),
    "select count(*), coalesce(max(id), 0) from notes where lower(body) like 'a%' group by tenant_id having count (*) > 1",
    "select 'insert into notes values (f(1))'",
    "select 'it''s' as \"update\"",
    'select "delete", "do" from "merge"',
    'select 1 -- delete f()',
    'select 1 -- delete f()\n from notes',
    'select 1 /* f() ; delete **/ from notes',
    '/* tenant acme */ select 1',
    'select $$ insert f() $$, $a$ $$ delete; $a$, $é$ f() $é$',
    'select * from notes for share',
    'select 1;',
    'select 1 ;  ',
    'select 1; -- x',
    "select 'e', 'a e', date '2020-01-01'",
    'select cast(id as text) from notes where id in (1, 2) and exists (select 1)',
  ])('%s', (sql) => expect(isPureRead(sql)).toBe(true));

  // As TypeORM sends them.
  test.each([
    'SELECT "Note"."id" AS "Note_id", "Note"."tenant_id" AS "Note_tenant_id" FROM "notes" "Note" WHERE (("Note"."tenant_id" = $1)) LIMIT 1',
    'SELECT COUNT(1) AS "cnt" FROM "notes" "Note" WHERE (("Note"."tenant_id" = $1))',
    'SELECT COUNT(DISTINCT("Note"."id")) AS "cnt" FROM "notes" "Note"',
    'SELECT SUM("id") AS "SUM" FROM "notes" "Note" WHERE (("Note"."body" IN ($1, $2)))',
    'SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "notes" "Note") LIMIT 1',
    'SELECT DISTINCT "distinctAlias"."Note_id" AS "ids_Note_id" FROM (SELECT "Note"."id" AS "Note_id" FROM "notes" "Note" LEFT JOIN "tags" "t" ON "t"."note"="Note"."id") "distinctAlias" ORDER BY "Note_id" ASC LIMIT 1',
    'SELECT * FROM "notes" "Note" WHERE (NOT("Note"."id" = ANY($1)) AND "Note"."at" BETWEEN $2 AND $3 AND UPPER("Note"."body") = UPPER($4))',
  ])('%s', (sql) => expect(isPureRead(sql)).toBe(true));

  test.each(['START TRANSACTION', 'begin', 'SAVEPOINT typeorm_1', 'RELEASE SAVEPOINT typeorm_1', 'ROLLBACK'])(
    '%s, which makes nothing last',
    (sql) => expect(isPureRead(sql)).toBe(true),
  );
  test.each(['set transaction read only', "set local statement_timeout = '1s'", 'discard all'])('%s', (sql) =>
    expect(isPureRead(sql)).toBe(true),
  );
});

describe('a write, or what may be one', () => {
  test.each([
    '',
    'insert into notes values (1)',
    'update notes set id = 1',
    'delete from notes',
    'merge into notes using x on true when matched then delete',
    'truncate notes',
    'copy notes from stdin',
    'call f()',
    'do $$ begin end $$',
    'create table x ()',
    'select * into x from notes',
    'select 1 from notes for update',
    'select 1 from notes for no key update',
    'with x as (insert into notes values (1) returning *) select * from x',
    'with x as (delete from notes returning *) table x',
    'explain analyze delete from notes',
    'execute prepared',
    "notify channel, 'x'",
    'lock table notes',
    'COMMIT',
    'end',
    'prepare transaction $$x$$',
    'set search_path = app',
  ])('%s', (sql) => expect(isPureRead(sql)).toBe(false));

  test.each([
    'select f()',
    'select f ()',
    'select f\n\t()',
    'select f/* x */(1)',
    'select f--\n(1)',
    'select "f"()',
    'select "F x" (1)',
    'select "we""ird"(1)',
    'select app.f()',
    'select app.abs(1)',
    'select app . abs (1)',
    'select "app".abs(1)',
    'select pg_catalog.set_config($1, $2, false)',
    'select nextval($1)',
    'select fé(1)',
    'select absé(1)',
    'select pg_notify($1, $2)',
    'select abs(f(1))',
    'table notes union select f()',
    'select * from f()',
    'values (f())',
    'with x as (select f()) select 1',
  ])('%s, for the function', (sql) => expect(isPureRead(sql)).toBe(false));

  test.each([
    ['an escape string', String.raw`select E'\'', f() --'`],
    ['an escape string in lower case', String.raw`select e'\' from notes; delete from notes --'`],
    ['a nested comment', "select 1 /* /* */ ' */, f() --'"],
    ['a comment that PostgreSQL ends at a carriage return', 'select 1 --\r, f()'],
    ['a dollar in a name', 'select a$b$ , f() , c$b$'],
    ['a dollar quote with a name that is no ASCII', "select $é$ ' $é$, f(), $é$ ' $é$"],
    ['a dollar quote of another name', 'select $a$ $b$ $a$, f(), $c$ $b$ $c$'],
    ['several statements', 'select 1; delete from notes'],
    ['several reads', 'select 1; select 2'],
    ['a statement behind a begin', 'begin; insert into notes values (1)'],
    ['a statement behind a rollback', 'rollback; delete from notes'],
    ['a literal with a backslash before its quote', String.raw`select '\', f() --'`],
  ])('%s: %s', (_what, sql) => expect(isPureRead(sql)).toBe(false));
});

describe('any text', () => {
  const blank = fc.constantFrom(' ', '\n', '\t', '\r\n', ' /* c */ ', ' -- c\n', ' -- c\r', " /* ' */ ");
  const quoted = fc
    .stringMatching(/^[a-z;()'"$ ]{0,8}$/)
    .chain((text) =>
      fc.constantFrom(
        `'${text.replaceAll("'", "''")}'`,
        `"${text.replaceAll('"', '""')}x"`,
        `$q$${text.replaceAll('$', '')}$q$`,
        `/*${text}*/`,
        `--${text}\n`,
      ),
    );
  const plain = fc.constantFrom('select', '1', ',', 'x', 'from', 'notes', '+', 'abs(1)', 'where', 'a$b');
  const filler = fc.array(fc.oneof(quoted, plain), { maxLength: 8 });
  const danger = fc.oneof(
    fc
      .tuple(fc.constantFrom('f', '"f"', 'app.abs', 'nextval', 'fé', '"x".lower', 'do_it'), blank)
      .map(([name, gap]) => `${name}${gap}(1)`),
    fc.constantFrom(
      'insert',
      'UPDATE',
      'Delete',
      'merge',
      'into',
      'truncate',
      'copy',
      'call',
      'do',
      '; table x',
    ),
  );

  it('with an unknown function or a writing word outside of literals is never a read', () => {
    fc.assert(
      fc.property(filler, danger, filler, blank, (before, bad, after, gap) => {
        expect(isPureRead(['select 1', ...before, bad, ...after].join(gap))).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });

  it('without them is one: the fillers themselves are harmless', () => {
    fc.assert(
      fc.property(filler, blank, (parts, gap) => {
        expect(isPureRead(['select 1', ...parts].join(gap))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('is answered in time that grows with its length, and alike when asked again', () => {
    for (const part of ["'", '"', '/*', '*/', '$a$', '$', '--', '(', 'a(', ' ', '/**', '*', 'a', '. ', ';']) {
      const sql = `select 1 ${part.repeat(20_000)}`;
      const began = performance.now();
      expect(isPureRead(sql)).toBe(isPureRead(sql));
      expect(performance.now() - began).toBeLessThan(2000);
    }
  });
});
