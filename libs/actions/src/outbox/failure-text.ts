import { ShardingError } from '@app/routing';

const WORD = /^[\w.$-]{1,60}$/;

/**
 * What is stored of a failed attempt: the code of the error, or its class. Never its message, which may hold what is in
 * rows.
 */
export function failureText(error: unknown): string {
  if (error instanceof ShardingError) return error.code;
  if (typeof error !== 'object' || error === null) return typeof error;
  const { name, code, driverError } = error as { name?: unknown; code?: unknown; driverError?: unknown };
  const sqlstate = (driverError as { code?: unknown } | undefined)?.code;
  const words = [name, code ?? sqlstate].filter((word) => typeof word === 'string' && WORD.test(word));
  return words.length > 0 ? words.join(' ') : 'Error';
}
