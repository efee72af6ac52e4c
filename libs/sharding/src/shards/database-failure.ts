import { QueryFailedError } from 'typeorm/error/QueryFailedError.js'; // all of TypeORM takes 0.2 s to load
import { TypeORMError } from 'typeorm/error/TypeORMError.js';
import { ShardingError } from '@app/routing';

/** SQLSTATEs that say "the server, or the way to it, is gone", whatever was asked. */
const GONE = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '53300', // too_many_connections
]);

const QUERY_CANCELED = '57014';

/** Of the triggers that guard moved keys: `moves/MOVE.md`. */
const FENCED = 'SHM01';

/** Errors of the operating system about a socket. */
const SOCKET = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Messages of `pg` and of TypeORM that carry no code. */
const GONE_MESSAGES =
  /^(Connection terminated|Connection ended|Client was closed|Client has encountered a connection error|timeout expired|timeout exceeded when trying to connect|Query runner already released|Database connection provided by a query runner was already released|Cannot use a pool after calling end)/;

/** The SQLSTATE or system code of a driver's error, where it has one. */
export function failureCode(error: unknown): string | undefined {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (typeof cause !== 'object' || cause === null) return undefined;
  if (cause instanceof AggregateError) return failureCode(cause.errors[0]);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

/** Whether the connection is lost, as opposed to the statement being wrong. */
export function isConnectionFailure(error: unknown): boolean {
  const code = failureCode(error);
  if (code !== undefined) return GONE.has(code) || SOCKET.has(code) || code.startsWith('08');
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof Error && GONE_MESSAGES.test(cause.message);
}

/** The connection is lost without a word of the server: whether it did what it was sent is not known. */
export function isSilence(error: unknown): boolean {
  if (!isConnectionFailure(error)) return false;
  if (!isServerError(error)) return true;
  return failureCode(error)?.startsWith('08') === true && !NEVER_SENT.test(messageOf(error)); // a pooler lost the server
}

/** What a pooler says when it gives up before it has a server. */
const NEVER_SENT = /query_wait_timeout|unsupported startup parameter/;

function messageOf(error: unknown): string {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof Error ? cause.message : '';
}

const origins = new WeakMap<object, string>();

/** Which database an error is of, by its label; undefined for errors of others. */
export function originOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? origins.get(error) : undefined;
}

/** Notes which database an error is of; gives it on. */
export function ofDatabase<E>(label: string, error: E): E {
  if (typeof error === 'object' && error !== null) origins.set(error, label);
  return error;
}

/** `pg` gave up a statement (`query_timeout`) and left it running: its connection must not be used again. */
export function isReadTimeout(error: unknown): boolean {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof Error && cause.message === 'Query read timeout';
}

const READ_ONLY = '25006';

/** A write met a server, or a transaction, that takes none. */
export function isReadOnly(error: unknown): boolean {
  return failureCode(error) === READ_ONLY;
}

/** 53100; a file that cannot grow for another reason has no code of its own. */
export function isDiskFull(error: unknown): boolean {
  const code = failureCode(error);
  if (code === '53100') return true;
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return code === 'XX000' && cause instanceof Error && /^could not (extend|write)/.test(cause.message);
}

/** Whether the server itself refused a statement, which aborts the transaction around it. */
export function isServerError(error: unknown): boolean {
  const code = failureCode(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code);
}

/** Where a failed statement carries what was in the rows. */
const ROW_CONTENT = ['parameters', 'driverError', 'detail', 'where', 'internalQuery'] as const;

/**
 * The error that a caller gets for a failed statement: a lost connection becomes `shard_unavailable`, a cancelled
 * statement `deadline_exceeded`, a write of a key that moves `shard_moved`. Everything else is the caller's own and passes
 * through; what it knows of rows can be read but is not enumerable, so that a logger does not print it.
 */
export function statementError(label: string, error: unknown): unknown {
  if (error instanceof ShardingError) return error;
  if (isConnectionFailure(error)) {
    return unavailable(label, `lost the connection${hint(error)}`, error);
  }
  if (failureCode(error) === FENCED) return moved(label, error);
  if (isDiskFull(error)) return unavailable(label, `has no space left${hint(error)}`, error);
  if (isReadTimeout(error)) {
    return new ShardingError('deadline_exceeded', `${described(label)} did not answer within query_timeout`, {
      cause: error,
    });
  }
  if (failureCode(error) === QUERY_CANCELED) {
    return new ShardingError(
      'deadline_exceeded',
      `${described(label)} cancelled a statement (statement_timeout, or an administrator)`,
      { cause: error },
    );
  }
  if (error instanceof QueryFailedError) {
    for (const key of ROW_CONTENT) {
      if (key in error) Object.defineProperty(error, key, { value: error[key as never], enumerable: false });
    }
  }
  return error;
}

function moved(label: string, cause: unknown): ShardingError {
  const where = `its key is being moved from ${described(label)} to another shard, or lives on another one now`;
  return new ShardingError('shard_moved', `the row was not written: ${where}; try again`, { cause });
}

/** The error for a connection that could not be opened or was not free in time. */
export function checkoutError(label: string, error: unknown): Error {
  if (error instanceof ShardingError) return error;
  if (error instanceof TypeORMError && !(error instanceof QueryFailedError)) return error; // of the entities, say
  const parameter = refusedParameter(error);
  if (parameter !== undefined) {
    const hint = `set pooler = "transaction" for it, and no such parameter in its URL or in typeorm.extra`;
    return unavailable(label, `is behind a pooler that takes no parameter "${parameter}": ${hint}`, error);
  }
  const what = isPoolTimeout(error) ? 'has no free connection' : 'cannot be reached';
  return unavailable(label, `${what}${hint(error)}`, error);
}

/** The startup parameter that a transaction-mode pooler does not take. */
function refusedParameter(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return /^unsupported startup parameter(?: in options)?: (\w+)/.exec(error.message)?.[1];
}

/** Whether the pool had no free connection in time, as opposed to the server. */
export function isPoolTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

const REPLICA = /:replica$/;

/** `shard "x"`, `the control database`, `the replica of shard "x"`, for messages. */
export function described(label: string): string {
  if (REPLICA.test(label)) return `the replica of ${described(label.replace(REPLICA, ''))}`;
  return label === 'control' ? 'the control database' : `shard "${label.replace(/^shard:/, '')}"`;
}

/** The error for a database that cannot be used now. */
export function unavailable(label: string, what: string, cause?: unknown): ShardingError {
  const code = REPLICA.test(label) ? 'replica_unavailable' : 'shard_unavailable';
  const options = cause === undefined ? undefined : { cause };
  return ofDatabase(label, new ShardingError(code, `${described(label)} ${what}`, options));
}

/** What the usual codes mean to the one who reads the log. */
const GLOSSARY = new Map([
  ['28P01', 'the password was refused'],
  ['28000', 'the login was refused'],
  ['3D000', 'no such database'],
  ['53300', 'too many connections'],
  ['57P03', 'the server is starting or stopping'],
  ['ECONNREFUSED', 'nothing listens there'],
  ['ENOTFOUND', 'the host name is not known'],
]);

/** The reason of a failure for the log: code and meaning, never host, user or text of the driver. */
export function failureReason(error: unknown): string {
  const code = failureCode(error);
  const parameter = refusedParameter(error);
  if (parameter !== undefined) return `the pooler takes no parameter "${parameter}": pooler = "transaction"?`;
  if (code === undefined) return 'no answer in time, or the connection was closed';
  const meaning = GLOSSARY.get(code);
  return meaning === undefined ? code : `${code}, ${meaning}`;
}

/** The code alone: a driver's message may name hosts and users. */
function hint(error: unknown): string {
  const code = failureCode(error);
  return code === undefined ? '' : ` (${code})`;
}
