/** A piece of SQL that is no code: where it ends. */
const OPENERS = /--|\/\*|'|"|\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/gi;
const NAME_BEFORE = /[\w$\u0080-\uffff]$/;

/**
 * SQL without what is no code: comments, literals and dollar quotes become a blank, quoted names `""`. Read as PostgreSQL
 * reads it: comments nest, `E''` has backslashes, a dollar quote ends at its own tag. What never ends runs to the end.
 */
export function bareSql(sql: string): string {
  let bare = '';
  let at = 0;
  OPENERS.lastIndex = 0;
  for (let found = OPENERS.exec(sql); found; found = OPENERS.exec(sql)) {
    const [opener] = found;
    const before = sql.slice(at, found.index);
    if (opener.startsWith('$') && NAME_BEFORE.test(before)) continue; // a dollar inside a name
    bare += before + (opener === '"' ? '""' : ' ');
    at = endOf(sql, found.index, opener);
    OPENERS.lastIndex = at;
  }
  return bare + sql.slice(at);
}

function endOf(sql: string, start: number, opener: string): number {
  const from = start + opener.length;
  if (opener === '/*') return endOfComment(sql, start);
  if (opener === '--') return upTo(sql, from, { end: /[\n\r]/g });
  if (opener === '"') return upTo(sql, from, { end: /"/g, skip: /""/g });
  if (opener !== "'") return upTo(sql, from, { end: new RegExp(opener.replaceAll('$', '\\$'), 'g') });
  const escapes = /(^|[^\w$\u0080-\uffff])e$/i.test(sql.slice(0, start));
  return upTo(sql, from, { end: /'/g, skip: escapes ? /''|\\[\s\S]/g : /''/g });
}

/** Behind the first match of `end`, where `skip` does not match first. */
function upTo(sql: string, from: number, { end, skip }: { end: RegExp; skip?: RegExp }): number {
  let at = from;
  for (;;) {
    end.lastIndex = at;
    const found = end.exec(sql);
    if (!found) return sql.length;
    if (skip) skip.lastIndex = at;
    const skipped = skip?.exec(sql);
    if (!skipped || skipped.index > found.index) return found.index + found[0].length;
    at = skipped.index + skipped[0].length;
  }
}

function endOfComment(sql: string, start: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(sql); mark; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}

const SUSPICIOUS = /\b(begin|start|commit|end|abort|prepare|rollback)\b/i;
const CONTROL =
  /^\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+((work|transaction)\s+)?to\b))\b/i;

/** Whether one of the statements of `sql` begins or ends a transaction. A savepoint does neither. */
export function controlsTransaction(sql: string): boolean {
  if (!SUSPICIOUS.test(sql)) return false;
  const bare = bareSql(sql).replace(/\bbegin\s+atomic\b[\s\S]*\bend\b/gi, ' '); // the body of a function
  return bare.split(';').some((statement) => CONTROL.test(statement));
}

/** The first word of each statement of `sql`, in lower case. */
export function firstWords(sql: string): string[] {
  return bareSql(sql)
    .split(';')
    .flatMap((statement) => /^\s*([a-z]+)/i.exec(statement)?.[1]?.toLowerCase() ?? []);
}
