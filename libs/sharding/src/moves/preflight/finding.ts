/** What is looked at, in the order of the findings. */
export const CHECKS = [
  'same-database',
  'server',
  'framework',
  'table',
  'persistence',
  'inheritance',
  'partition',
  'column',
  'type',
  'constraint',
  'unique-key',
  'foreign-key',
  'identity',
  'key',
  'index',
  'embedded-id',
  'large-object',
  'privilege',
  'row-security',
  'rule',
  'trigger',
  'reference',
  'exclusion',
  'rows',
  'collision',
  'space',
] as const;
export type Check = (typeof CHECKS)[number];

/** What could stop a move, or what the operator should know before it. */
export interface Finding {
  readonly check: Check;
  /** A move with an error is not begun. */
  readonly severity: 'error' | 'warning';
  /** As `public.bookmarks`; undefined where it is about a server. */
  readonly table?: string | undefined;
  /** What, where, and what to do; without row content. */
  readonly message: string;
}

/** By check; what one check says of several tables stays in the order of the tables. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => CHECKS.indexOf(a.check) - CHECKS.indexOf(b.check));
}

/** `1 row`, `2 rows` */
export function counted(count: number | bigint, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${Number(count) === 1 ? '' : 's'}`;
}
