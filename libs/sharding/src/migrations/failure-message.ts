import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { failureCode } from '../shards/database-failure.js';
import { withoutSecrets } from '../without-secrets.js';

/**
 * The first line of an error, without what must not be in a log: URLs, passwords, and the values of rows. A driver's message
 * about a login or an address, which names hosts and users, comes wrapped.
 */
export function failureMessage(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error';
  return withoutSecrets(withoutValues(error)).split('\n')[0] ?? '';
}

/** Of what the server says, and those who speak for it: data exceptions quote a value, violations name objects. */
function withoutValues(error: Error): string {
  const kind = failureCode(error)?.slice(0, 2);
  if (kind !== '22' && kind !== '23') return error.message;
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  const { routine } = cause as ServerError;
  if (routine === RAISED || (kind === '23' && !namesObject(cause as ServerError))) {
    return 'a function of the database has raised it; what it says may quote rows and is hidden';
  }
  return kind === '22' ? withoutQuoted(error.message) : error.message;
}

/** What the server tells of an error beside its message. */
interface ServerError {
  readonly routine?: string;
  readonly table?: string;
  readonly dataType?: string;
}

/** The place in the server where `raise` of PL/pgSQL is. */
const RAISED = 'exec_stmt_raise';

/** The server itself always says what a violated rule belongs to. */
function namesObject({ table, dataType }: ServerError): boolean {
  return table !== undefined || dataType !== undefined;
}

/** `invalid input syntax for type integer: [hidden]`; with the quotes of other languages. */
function withoutQuoted(message: string): string {
  return message.replace(/["«»„“”].*["«»„“”]/s, '[hidden]').replace(/: .*/s, ': [hidden]');
}
