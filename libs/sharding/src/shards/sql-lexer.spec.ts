import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { replaceParts } from './sql-lexer.js';

/** Each part in brackets, by the first letter of its kind. */
const marked = (sql: string) => replaceParts(sql, (kind, text) => `[${kind[0]} ${text}]`);

describe('the parts of SQL', () => {
  it.each([
    ['select 1', 'select 1'],
    ['', ''],
    ["select 'a''b' x", "select [s 'a''b'] x"],
    ["'back\\' x", "[s 'back\\'] x"],
    ["E'it\\'s', e'a''\\\\' x", "[s E'it\\'s'], [s e'a''\\\\'] x"],
    ["nice'a\\' x", "nice[s 'a\\'] x"],
    ["_e'\\', a1e'\\', ée'\\' x", "_e[s '\\'], a1e[s '\\'], ée[s '\\'] x"],
    ["x'ff', U&'a', U&\"b\"", "x[s 'ff'], U&[s 'a'], U&[n \"b\"]"],
    ['"a""b".c', '[n "a""b"].c'],
    ['1 -- a\n, 2 --b\r, 3 -- c', '1 [c -- a]\n, 2 [c --b]\r, 3 [c -- c]'],
    ['1 - 2 / 3 * 4', '1 - 2 / 3 * 4'],
    ['a/* b /* c */ d */e', 'a[c /* b /* c */ d */]e'],
    ['$$ a $$, $x$ $y$ $$ $x$, $é_1$ $é_1$', '[s $$ a $$], [s $x$ $y$ $$ $x$], [s $é_1$ $é_1$]'],
    ['a$b$c, a1$$ x $$', 'a$b$c, a1$$ x [s $$]'],
    ['$1, $2::text, $1$a$ x $a$', '$1, $2::text, $1[s $a$ x $a$]'],
    ['1$a$ x $a$, 1.5e3$$ x $$, 0xfe$$ x $$', '1[s $a$ x $a$], 1.5e3[s $$ x $$], 0xfe[s $$ x $$]'],
    ['\'-- /* "\'"\'$$"$$\'"$$/* -- */', '[s \'-- /* "\'][n "\'$$"][s $$\'"$$][c /* -- */]'],
  ])('%j are %j', (sql, parts) => expect(marked(sql)).toBe(parts));

  it.each(["'a ; b", "E'a\\", "E'a\\'", '"a', '/* a /* b */', '-- a', '$$ a $', '$a$ $b$'])(
    'that do not end run to the end: %j',
    (sql) => expect(marked(`x ${sql}`)).toBe(`x [${marked(sql)[1]} ${sql}]`),
  );

  it('and the code between are the whole of it (any text)', () => {
    const text = fc.string({ unit: fc.constantFrom(...'\'"$-/*;aeE1_\\\n\ré x'), maxLength: 40 });
    fc.assert(
      fc.property(text, (sql) => {
        const seen: string[] = [];
        const note = (piece: string) => {
          seen.push(piece);
          return '';
        };
        replaceParts(sql, (_kind, piece) => note(piece), note);
        expect(seen.join('')).toBe(sql);
        expect(marked(sql).length).toBeGreaterThanOrEqual(sql.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('are found in time that grows with the length', () => {
    for (const piece of [
      "'",
      '"',
      '/*',
      '$a$',
      '$',
      'a$',
      '--',
      "e'",
      '\\',
      "E'\\'",
      '1',
      '1e',
      'é',
      '-',
      '/',
    ]) {
      const began = performance.now();
      marked(piece.repeat(200_000));
      expect(performance.now() - began).toBeLessThan(2000);
    }
  });
});
