import { ShardingError } from '@app/routing';
import { bareSql } from '../shards/sql-text.js';
import { foreignTenant } from './foreign-tenant.js';
import type { EntityMetadata } from 'typeorm';

type Named = Pick<EntityMetadata, 'name'>;

/** A piece of a caller's SQL, and what it is part of. */
export interface Fragment {
  readonly sql: string;
  readonly metadata: Named;
  /** Queries that may be part of it, as they filter by the tenant themselves. */
  readonly queries?: () => Iterable<string>;
}

const NAME = /^[\w.]+$/;
const NO_CODE = /['"$]|--|\/\*/;
const QUERY =
  /\(\s*(?:select|with|table)\b|\b(?:union|intersect|except|(?:query|table|schema|database|cursor)_to_xml\w*|dblink\w*)\b/i;
const CLAUSE = /(?<!\bdistinct\s+)\bfrom\b|\b(?:where|into)\b|;/i;
const UNSAFE_ALIAS = /[\s"'`();,=:\\/*]|--/;

/**
 * A fragment may not close a parenthesis that it has not opened, and may leave nothing open: it would get out of what
 * surrounds it.
 *
 * @throws ShardingError `cross_tenant`
 */
export function assertEnclosed(sql: string, metadata: Named): void {
  if (NAME.test(sql)) return;
  const code = bare(sql);
  let depth = 0;
  for (let at = 0; at < code.length && depth >= 0; at++) {
    const character = code[at];
    if (character === '(') depth++;
    if (character === ')') depth--;
  }
  const open = NO_CODE.test(sql) && bareSql(`${sql})`).trimEnd().at(-1) !== ')';
  if (depth !== 0 || open) {
    throw foreignTenant(metadata, 'SQL has parentheses, quotes or comments that do not end');
  }
}

/**
 * {@link assertEnclosed}, and no clause or query of its own: those would read past the tenant.
 *
 * @throws ShardingError `cross_tenant`; `invalid_options`
 */
export function assertFragment({ sql, metadata, queries }: Fragment): void {
  if (NAME.test(sql)) return;
  assertEnclosed(sql, metadata);
  const code = bare(sql);
  if (QUERY.test(code) && QUERY.test(bare(without(sql, queries?.() ?? [])))) {
    throw new ShardingError(
      'invalid_options',
      `a query in a string is not filtered by the tenant of ${metadata.name}: build it with subQuery() of the query builder`,
    );
  }
  if (CLAUSE.test(code) && CLAUSE.test(topLevel(code))) {
    throw foreignTenant(metadata, 'SQL has a clause of its own');
  }
}

/** The values of a write may be SQL, by functions: each is one expression. @throws ShardingError as `assertFragment` */
export function assertValues(values: unknown, metadata: Named): void {
  if (typeof values !== 'object' || values === null) return;
  for (const value of Object.values(values) as unknown[]) {
    if (typeof value !== 'function') continue;
    const sql = String((value as () => unknown)());
    assertFragment({ sql, metadata });
    if (topLevel(bare(sql)).includes(',')) throw foreignTenant(metadata, 'SQL is more than one value');
  }
}

/** TypeORM writes an alias into the SQL as it is. @throws ShardingError `invalid_options` */
export function assertAlias(alias: string): void {
  if (alias !== '' && !UNSAFE_ALIAS.test(alias)) return;
  throw new ShardingError('invalid_options', 'an alias of a query builder is a plain name');
}

function bare(sql: string): string {
  return NO_CODE.test(sql) ? bareSql(sql) : sql;
}

function without(sql: string, queries: Iterable<string>): string {
  let rest = sql;
  for (const query of queries) rest = rest.replaceAll(query, '()');
  return rest;
}

/** What stands in no parentheses. */
function topLevel(code: string): string {
  let depth = 0;
  let top = '';
  for (const character of code) {
    if (character === '(') depth++;
    else if (character === ')') depth--;
    else if (depth === 0) top += character;
  }
  return top;
}
