import { ShardingError } from '@app/routing';

const CONTROL_CHARACTER = /\p{Cc}/u;

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * A tenant as it may be hashed and stored: verbatim, neither trimmed nor folded.
 *
 * @param maxLength in UTF-8 bytes
 * @throws ShardingError `invalid_tenant` when it is blank, too long, ill-formed or has control characters
 */
export function checkedTenant(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') throw invalidTenant('must be a string');
  if (value.trim() === '') throw invalidTenant('must not be blank');
  if (value.length > maxLength || Buffer.byteLength(value) > maxLength) {
    throw invalidTenant(`must have at most ${maxLength} bytes`);
  }
  if (CONTROL_CHARACTER.test(value)) throw invalidTenant('must not contain control characters');
  if (LONE_SURROGATE.test(value)) throw invalidTenant('must be well-formed Unicode');
  return value;
}

/** The message never repeats the value: it came from outside. */
export function invalidTenant(rule: string): ShardingError {
  return new ShardingError('invalid_tenant', `the tenant of the request ${rule}`);
}
