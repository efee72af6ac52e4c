import { ShardingError } from '@app/routing';
import { described } from './database-failure.js';
import { replaceParts } from './sql-lexer.js';
import type { PartKind } from './sql-lexer.js';

/** What leaves something behind in the session; a false alarm costs one reset. */
export const SESSION_STATEMENT =
  /(^|;|\*\/|\n)\s*(set(?!\s+(local|transaction|constraints)\b)|reset|listen|prepare|load|declare|discard|do|call|create\s+((local|global)\s+)?temp)|set_config|advisory_lock/i;

/** A statement without one of these words certainly leaves the session alone. */
const SUSPICIOUS =
  /\b(set|reset|listen|unlisten|prepare|execute|deallocate|load|discard|declare|temp|temporary|pg_temp|do)\b|set_config|advisory_/i;

const COMMAND = String.raw`(set(?!\s+(local|transaction|constraints)\b)|reset|listen|unlisten|prepare|execute|deallocate|load|discard)\b`;
const BEGINS = new RegExp(`^${COMMAND}`, 'i');
const TEMPORARY =
  /^create\s+(or\s+replace\s+)?((local|global)\s+)?temp(orary)?\b(?![\s\S]*\bon\s+commit\s+drop\b)|^create\b[\s\S]*\bpg_temp\s*\.|(?<!\b(insert|merge)\s+)\binto\s+((local|global)\s+)?temp(orary)?\s+(table\s+)?["\w]/i;
const HELD_CURSOR = /^declare\b[\s\S]*\bwith\s+hold\b/i;
const BLOCK = /(^|;)\s*do\b/i;
/** The same commands where a block of code may have them. */
const IN_BLOCK = new RegExp(String.raw`(;|'|\$|\b(begin|then|else|loop))\s*${COMMAND}`, 'i');

const ADVISORY = /\bpg_(try_)?advisory_(lock|unlock)\w*(?=\s*\()/i;
const SET_CONFIG = /\bset_config\s*\(/gi;
const KNOWN_FUNCTION = /^"(set_config|pg_(try_)?advisory_\w+)"$/;

/**
 * Refuses a statement that would change the session. Behind a transaction-mode pooler the session is whatever server
 * connection happens to be free: the change would reach other tenants, and no reset could find it again. What functions
 * and procedures do inside cannot be seen here.
 *
 * @throws ShardingError `invalid_options`
 */
export function refuseSessionUse(label: string, sql: string, parameters?: readonly unknown[]): void {
  if (!SUSPICIOUS.test(sql)) return;
  const use = sessionUse(sql, parameters);
  if (use === undefined) return;
  throw new ShardingError(
    'invalid_options',
    `${described(label)} is behind a transaction-mode pooler, where ${use} would reach whoever gets the server's session next: use SET LOCAL, set_config(..., true) or pg_advisory_xact_lock inside tx(), or a direct connection (maintenance_url)`,
  );
}

/** What of a statement outlives its transaction; undefined when nothing does that can be seen. */
export function sessionUse(sql: string, parameters: readonly unknown[] = []): string | undefined {
  const bare = replaceParts(sql, unquoted);
  for (const statement of bare.split(';')) {
    const text = statement.trim();
    const command = BEGINS.exec(text)?.[1];
    if (command) return command.toUpperCase();
    if (TEMPORARY.test(text)) return 'a temporary table';
    if (HELD_CURSOR.test(text)) return 'a cursor WITH HOLD';
  }
  if (!BLOCK.test(bare)) return functionUse(bare, parameters);
  return IN_BLOCK.exec(sql)?.[3]?.toUpperCase() ?? functionUse(sql, parameters);
}

function unquoted(kind: PartKind, text: string): string {
  if (kind === 'comment') return ' ';
  if (kind === 'string') return "''";
  return KNOWN_FUNCTION.test(text) ? text.slice(1, -1) : '""';
}

function functionUse(text: string, parameters: readonly unknown[]): string | undefined {
  const lock = ADVISORY.exec(text)?.[0];
  if (lock) return lock.toLowerCase();
  for (const { index, 0: call } of text.matchAll(SET_CONFIG)) {
    if (!isLocal(lastArgument(text, index + call.length), parameters)) return 'set_config(..., false)';
  }
  return undefined;
}

/** Of a call whose arguments begin at `from`. */
function lastArgument(text: string, from: number): string {
  let depth = 0;
  let begin = from;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === '(') depth++;
    else if (character === ')' && depth-- === 0) return text.slice(begin, at).trim();
    else if (character === ',' && depth === 0) begin = at + 1;
  }
  return '';
}

function isLocal(argument: string, parameters: readonly unknown[]): boolean {
  const [, value = '', position] =
    /^(?:is_local\s*(?:=>|:=)\s*)?(true|\$(\d+))(?:\s*::\s*bool(?:ean)?)?$/i.exec(argument) ?? [];
  return position === undefined ? value !== '' : parameters[Number(position) - 1] === true;
}
