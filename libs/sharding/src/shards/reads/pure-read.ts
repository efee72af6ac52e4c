import { replaceParts } from '../sql-lexer.js';
import type { PartKind } from '../sql-lexer.js';

/**
 * Functions that certainly write nothing, and keywords that stand before a parenthesis. Everything else with
 * parentheses behind it may be a function that writes.
 */
const HARMLESS = new Set(
  `abs all and any array array_agg array_length array_position as asc avg between bool_and bool_or btrim by
  cardinality case cast ceil char_length coalesce concat concat_ws count cross current_date current_schema date date_part
  date_trunc dense_rank desc distinct else encode exists extract filter first_value floor format from full greatest
  group having ilike in inner intersect interval is join json_agg json_build_object jsonb_agg jsonb_array_length
  jsonb_build_object lag last_value lateral lead least left length like limit lower ltrim max md5 min mod not now
  nullif numeric nulls octet_length offset on or order over partition position power rank regexp_match
  regexp_replace replace right round row row_number rtrim select similar some split_part sqrt starts_with string_agg
  strpos substr substring sum text then to_char to_date to_timestamp to_tsquery to_tsvector trim union unnest upper
  using values varchar version when where width_bucket with within`.split(/\s+/),
);

const BEGINS_AS_READ = /^\s*(select|with|values|table|show)\b/i;
/** What begins, nests or gives up a transaction, but makes nothing last. */
const CONTROL =
  /^\s*(start\s+transaction|begin|savepoint|release|rollback|set\s+(local|transaction)|discard)\b/i;
const MORE = /;\s*\S/;
const WRITING_WORD = /\b(insert|update|delete|merge|into|truncate|copy|call|do|nextval|setval)\b/i;
/** With the dot before the name: a function of another schema may be called as a harmless one. */
const CALL = /(\.\s*)?("|(?<![a-z_$\u0080-\uffff])[a-z_\u0080-\uffff][\w$\u0080-\uffff]*)\s*\(/gi;
/** Whether a backslash lets a quote end is also up to the session (`standard_conforming_strings`). */
const DOUBTFUL = /^e|^'[\s\S]*\\'/i;
/** What stands for a doubtful string; no quote is left of any other. */
const DOUBT = "'";

const CACHE_SIZE = 1000;
const MAX_CACHED_LENGTH = 4000;
const known = new Map<string, boolean>();

/**
 * Whether a statement certainly writes nothing: a SELECT without `for update`, writing CTE or a function that is not
 * known to be harmless. When in doubt it is a write; that costs a question to the primary, never a stale read.
 */
export function isPureRead(sql: string): boolean {
  const cached = known.get(sql);
  if (cached !== undefined) return cached;
  const pure = CONTROL.test(sql) ? !MORE.test(sql) : readsOnly(sql);
  if (sql.length <= MAX_CACHED_LENGTH) {
    if (known.size >= CACHE_SIZE) known.clear();
    known.set(sql, pure);
  }
  return pure;
}

/** What certainly is no read, by its first word. */
const BEGINS_AS_WRITE = /^\s*(insert|update|delete|merge|copy|call|do|create|alter|drop|truncate|commit)\b/i;

function readsOnly(sql: string): boolean {
  if (BEGINS_AS_WRITE.test(sql)) return false;
  const bare = replaceParts(sql, bared);
  if (!BEGINS_AS_READ.test(bare) || WRITING_WORD.test(bare) || MORE.test(bare)) return false;
  if (bare.includes(DOUBT)) return false;
  for (const [, dot, name = ''] of bare.matchAll(CALL)) {
    if (dot !== undefined || !HARMLESS.has(name.toLowerCase())) return false;
  }
  return true;
}

/** A name as its quote alone. */
function bared(kind: PartKind, text: string): string {
  if (kind === 'name') return '"';
  return kind === 'string' && DOUBTFUL.test(text) ? DOUBT : ' ';
}
