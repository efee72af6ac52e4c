import { ShardingError } from '@app/routing';
import { headerValues } from '../http-request.js';

const HEADER = 'idempotency-key';

/** Visible ASCII, as UUIDs and random words are. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The key of a request; undefined without one. @throws ShardingError `idempotency_key_invalid` */
export function idempotencyKeyOf(request: object, use: 'required' | 'optional'): string | undefined {
  const [key, ...more] = headerValues(request, HEADER);
  if (key === undefined) {
    if (use === 'optional') return undefined;
    throw invalid('the request needs the header Idempotency-Key: a new value for each new piece of work');
  }
  if (more.length === 0 && KEY.test(key)) return key;
  throw invalid('Idempotency-Key is one value of 1 to 255 visible ASCII characters');
}

function invalid(message: string): ShardingError {
  return new ShardingError('idempotency_key_invalid', message);
}
