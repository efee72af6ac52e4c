import { replaceParts } from '../shards/sql-lexer.js';

/** An index that is to be built while others write. Names as they are written, with their quotes. */
interface ConcurrentIndex {
  readonly name: string;
  /** With its schema where one is written; the index will be in the schema of its table. */
  readonly table: string;
}

const CONCURRENTLY = /^\s*(?:create|drop|reindex|alter|refresh)\b[^;]*\bconcurrently\b/i;
const NAME = String.raw`[a-z_\u0080-\uffff][\w$\u0080-\uffff]*|"\d+"`;
const INDEX = new RegExp(
  String.raw`^\s*create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(${NAME})\s+on\s+(?:only\s+)?((?:${NAME})(?:\s*\.\s*(?:${NAME}))?)\s*(?:\(|using\b)`,
  'i',
);

/** Whether a statement takes no lock that others would notice, and may wait as long as it has to. */
export function isConcurrent(sql: string): boolean {
  return CONCURRENTLY.test(bare(sql).text);
}

/** The index that a statement builds concurrently under a name; undefined for all other statements. */
export function concurrentIndex(sql: string): ConcurrentIndex | undefined {
  const { text, names } = bare(sql);
  const [, name, table] = INDEX.exec(text) ?? [];
  if (name === undefined || table === undefined) return undefined;
  const written = (part: string) =>
    part.replace(/\s/g, '').replace(/"(\d+)"/g, (_none, place) => names[Number(place)] ?? '');
  return { name: written(name), table: written(table) };
}

/** Without comments and strings; names in quotes stand as `"0"`, `"1"`, with a blank around them. */
function bare(sql: string): { readonly text: string; readonly names: readonly string[] } {
  const names: string[] = [];
  const text = replaceParts(sql, (kind, part) => (kind === 'name' ? ` "${names.push(part) - 1}" ` : ' '));
  return { text, names };
}
