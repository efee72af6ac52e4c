import { ShardingError } from '@app/routing';

const WORD = /^[\w.$-]{1,60}$/;

/** What is stored of a failed attempt: the code of the error, or its class. Never its message, which may hold rows. */
export function failureText(error: unknown): string {
  if (error instanceof ShardingError) return error.code;
  if (!(error instanceof Error)) return typeof error;
  const { driverError } = error as { driverError?: { code?: unknown } };
  const words = [error.name, driverError?.code].filter((word) => typeof word === 'string' && WORD.test(word));
  return words.length > 0 ? words.join(' ') : 'Error';
}
