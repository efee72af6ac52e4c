/** What of SQL is no code. A string is in quotes, with its `E` where it has one, or in dollar quotes. */
export type PartKind = 'string' | 'name' | 'comment';

/** What may begin a part; a dollar quote may still be the middle of a word. */
const OPENER = /['"]|--|\/\*|\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/gi;
const ESCAPED = /e'[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*'/iy;
const LINE = /[^\n\r]*/y;
const WORD = /[\w$\u0080-\uffff]*/y;
/** What looks like the end of a word, and is a number or a placeholder. */
const NUMBER = /^(?:\$?\d+|\d[\d_]*(?:e\d+)?|0[xob][\da-f_]+)$/i;
const NESTING = /\/\*|\*\//g;
const DOLLAR = '$'.charCodeAt(0);
const IN_WORD = Uint8Array.from({ length: 128 }, (_none, code) =>
  /[\w$]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * The SQL with something else in place of its parts, read as PostgreSQL reads it: comments nest, `E''` has backslashes, a
 * dollar quote ends at its own tag and does not begin inside a word. What never ends runs to the end.
 *
 * @param part gives what stands for a part
 * @param code gives what stands for the code between parts; by default that is left as it is
 */
export function replaceParts(
  sql: string,
  part: (kind: PartKind, text: string) => string,
  code?: (text: string) => string,
): string {
  let replaced = '';
  let done = 0;
  for (let begin = nextPart(sql, 0); begin < sql.length; begin = nextPart(sql, done)) {
    const end = endOfPart(sql, begin);
    const before = sql.slice(done, begin);
    replaced += (code ? code(before) : before) + part(kindOf(sql.charAt(begin)), sql.slice(begin, end));
    done = end;
  }
  const rest = sql.slice(done);
  return replaced + (code ? code(rest) : rest);
}

/** Where the next part begins, from a place in the code on; the length of the text where there is none. */
function nextPart(sql: string, from: number): number {
  OPENER.lastIndex = from;
  for (let found = OPENER.exec(sql); found; found = OPENER.exec(sql)) {
    const { index, 0: opener } = found;
    if (opener === "'") return escapes(sql, from, index) ? index - 1 : index;
    if (opener.charCodeAt(0) !== DOLLAR || !endsWord(sql, from, index)) return index;
    OPENER.lastIndex = behind(WORD, sql, index);
  }
  return sql.length;
}

/** Whether the quote at `at` has an `E` before it, which is no end of a word. */
function escapes(sql: string, from: number, at: number): boolean {
  const before = at - 1;
  return before >= from && (sql[before] === 'e' || sql[before] === 'E') && !endsWord(sql, from, before);
}

/** Whether a word that begins at `from` or later ends right before `at`, or would go on there. */
function endsWord(sql: string, from: number, at: number): boolean {
  let begin = at;
  while (begin > from && isOfWord(sql.charCodeAt(begin - 1))) begin--;
  return begin < at && !NUMBER.test(sql.slice(begin, at));
}

function isOfWord(character: number): boolean {
  return character >= 128 || IN_WORD[character] === 1;
}

function kindOf(first: string): PartKind {
  if (first === '"') return 'name';
  return first === '-' || first === '/' ? 'comment' : 'string';
}

function endOfPart(sql: string, begin: number): number {
  const first = sql[begin];
  if (first === '"' || first === "'") return behindQuote(sql, begin + 1, first);
  if (first === '-') return behind(LINE, sql, begin);
  if (first === '/') return behindComment(sql, begin);
  if (first !== '$') return behind(ESCAPED, sql, begin);
  const tag = sql.slice(begin, sql.indexOf('$', begin + 1) + 1);
  const end = sql.indexOf(tag, begin + tag.length);
  return end < 0 ? sql.length : end + tag.length;
}

/** @param from behind the first quote; a doubled one is part of what is quoted */
function behindQuote(sql: string, from: number, quote: string): number {
  for (let at = sql.indexOf(quote, from); at >= 0; at = sql.indexOf(quote, at + 2)) {
    if (sql[at + 1] !== quote) return at + 1;
  }
  return sql.length;
}

function behindComment(sql: string, begin: number): number {
  NESTING.lastIndex = begin;
  let depth = 0;
  for (let mark = NESTING.exec(sql); mark; mark = NESTING.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return NESTING.lastIndex;
  }
  return sql.length;
}

/** Behind what a sticky pattern matches; to the end where it does not. */
function behind(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : sql.length;
}
