import { replaceParts } from './sql-lexer.js';

/** SQL without what is no code: comments, literals and dollar quotes become a blank, quoted names `""`. */
export function bareSql(sql: string): string {
  return replaceParts(sql, (kind) => (kind === 'name' ? '""' : ' '));
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
