import { describe, expect, it } from '@jest/globals';
import { oneLine, printable } from './printable.js';
import { table } from './table.js';

describe('table', () => {
  it('puts text to the left, numbers to the right, and - where nothing is', () => {
    expect(
      table(
        ['name', 'count', 'x'],
        [
          ['a', 5, null],
          ['long name', 12345, true],
        ],
      ),
    ).toBe(['name       count  x', 'a              5  -', 'long name  12345  true'].join('\n'));
  });

  it('measures wide characters', () => {
    expect(table(['k', 'v'], [['日本', 'x'], ['ab', 'y']]).split('\n')).toEqual(['k     v', '日本  x', 'ab    y']); // prettier-ignore
  });

  it('decorates the headings only', () => {
    const style = { heading: (text: string) => `<${text}>`, bad: (text: string) => text };
    expect(table(['k'], [['v']], style)).toBe('<k>\nv');
  });
});

it.each([
  ['a\nb', 'a\\x0ab'],
  ['\u001b]0;title\u0007', '\\x1b]0;title\\x07'],
  ['\u202eabc', '\\u202eabc'],
  ['ä日😀', 'ä日😀'],
])('%j is printed as %s', (text, safe) => expect(printable(text)).toBe(safe));

it.each([
  ['problems:\n  - one\n  - two', 'problems: one; two'],
  ['connect to postgres://app:hush@db/x failed', 'connect to [hidden] failed'],
  ["option '--url=postgres://a:hush@db' is", "option '--url=[hidden]' is"],
  ['host=db password=hush user=x', 'host=db [hidden] user=x'],
  ['a\r\nb', 'a b'],
])('%j becomes one line without secrets', (text, line) => expect(oneLine(text)).toBe(line));
