import { replaceParts } from './sql-lexer.js';
import type { PartKind } from './sql-lexer.js';

/** SQL of more characters is cut. */
const MAX_LENGTH = 2000;

const NUMBER = /(?<![\w$.])(?:\d[\w.]*|\.\d\w*)(?:(?<=e)[+-]\d+)?/gi;

/** The text of a statement with `?` for each value that stands in it, and without comments; placeholders stay. */
export function queryText(sql: string): string {
  const bare = replaceParts(sql.slice(0, MAX_LENGTH), shown, (code) => code.replace(NUMBER, '?'));
  return sql.length > MAX_LENGTH ? `${bare}...` : bare;
}

function shown(kind: PartKind, text: string): string {
  if (kind === 'name') return text;
  return kind === 'string' ? '?' : ' ';
}

/** What may stand before the first word: space, comments, parentheses. */
const FIRST_WORD = /^(?:[\s(]|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*([a-z]{2,20})\b/i;

/** `SELECT`, `INSERT` ...: the first word; undefined where a statement begins otherwise. */
export function operationOf(sql: string): string | undefined {
  return FIRST_WORD.exec(sql)?.[1]?.toUpperCase();
}
