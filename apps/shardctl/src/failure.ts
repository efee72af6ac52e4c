import { ShardingError } from '@app/routing';
import { oneLine } from './output/printable.js';
import { UsageError } from './verb.js';

/** Why something failed, for people and for programs. */
export interface Failure {
  /** A code of the library, an SQLSTATE, a code of the system, or one of shardctl: `usage`, `timeout`, `internal` ... */
  readonly code: string;
  /** One line that says what to do; no host, no password. */
  readonly message: string;
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Failures to connect, whose own words name hosts and users. */
const CONNECTING = new Map([
  ['28P01', 'the password was refused: check the URL of this target'],
  ['28000', 'the login was refused: check the user and pg_hba.conf'],
  ['3D000', 'there is no such database: check the URL of this target, or create it'],
  ['53300', 'the server has no free connection: try again later'],
  ['57P03', 'the server is starting or stopping: try again later'],
  ['57P01', 'the server ended the connection: try again'],
  ['ECONNREFUSED', 'nothing listens there: is the server running?'],
  ['ECONNRESET', 'the connection was reset: try again'],
  ['ENOTFOUND', 'the host name is not known: check the URL of this target'],
  ['EAI_AGAIN', 'the host name cannot be looked up now: try again later'],
  ['ETIMEDOUT', 'the server does not answer: is it reachable from here?'],
  ['EHOSTUNREACH', 'there is no way to the host: check the network'],
]);

/** What to do about a failure to connect; undefined for all other failures. */
export function connectingProblem(code: string): string | undefined {
  return CONNECTING.get(code);
}

/** What an error says, made safe. */
export function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) return { code: 'usage', message: oneLine(error.message) };
  if (error instanceof ShardingError) return { code: error.code, message: oneLine(error.message) };
  const code = codeOf(error);
  const known = CONNECTING.get(code ?? '');
  if (code !== undefined && known !== undefined) return { code, message: known };
  const text = error instanceof Error ? error.message : '';
  if (text === 'timeout expired') return { code: 'timeout', message: 'no answer in time' };
  if (/^(Connection terminated|Client has encountered a connection error)/.test(text)) {
    return { code: 'connection_lost', message: 'the connection was lost: try again' };
  }
  if (code !== undefined && SQLSTATE.test(code)) return { code, message: oneLine(text) };
  return { code: code ?? 'internal', message: oneLine(text || 'an error without a message') };
}

/** The SQLSTATE or system code of an error, or of the first one of several. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Name and code of an error and of what caused it, outermost first; both are checked for their shape. */
export function causesOf(error: unknown): string[] {
  const causes: string[] = [];
  for (let at: unknown = error; typeof at === 'object' && at !== null && causes.length < 10;) {
    const { name, code, cause, driverError } = at as Record<string, unknown>;
    const words = [name, code].filter((word) => typeof word === 'string' && /^[\w.$-]{1,60}$/.test(word));
    if (words.length > 0) causes.push(words.join(' '));
    at = cause ?? driverError ?? (at instanceof AggregateError ? (at.errors[0] as unknown) : undefined);
  }
  return causes;
}
