import { describeType } from './quote.js';
import { ShardingError } from './sharding-error.js';

/**
 * The value that decides placement. Text and bytes are one kind (identical bytes, identical slot), integers another:
 * the integer `1` and the string `"1"` are different keys, and so are the 16 bytes of a UUID and its 36-character text.
 * Always present one tenant as the same kind.
 */
export type RoutingKey = string | number | bigint | Uint8Array;

const ACCEPTED = 'a string, a safe integer, a bigint of 64 signed bits or a Uint8Array';
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/**
 * Why the value cannot be a routing key, or `undefined` when it can. Nothing is coerced.
 *
 * - strings must be well-formed (every lone surrogate would encode to the same bytes) and free of NUL
 *   (PostgreSQL cannot store it in text); the empty string is a key like any other;
 * - numbers must be safe integers and not `-0`; larger integers are passed as `bigint` in the int64 range.
 *
 * The text names the type and never the content: keys are tenant ids.
 */
export function routingKeyProblem(key: unknown): string | undefined {
  switch (typeof key) {
    case 'string':
      return stringProblem(key);
    case 'number':
      return numberProblem(key);
    case 'bigint':
      return key >= INT64_MIN && key <= INT64_MAX ? undefined : refusal('a bigint beyond 64 signed bits');
    default:
      return isBytes(key) ? undefined : refusal(describeType(key));
  }
}

/** @throws ShardingError `invalid_routing_key`, see {@link routingKeyProblem} */
export function assertRoutingKey(key: unknown): asserts key is RoutingKey {
  const problem = routingKeyProblem(key);
  if (problem !== undefined) throw new ShardingError('invalid_routing_key', problem);
}

/** Whether the value is a `Uint8Array` (a `Buffer` is one), also when another realm made it. */
export function isBytes(value: unknown): value is Uint8Array {
  if (value instanceof Uint8Array) return true;
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}

function stringProblem(key: string): string | undefined {
  if (key.includes('\0')) return refusal('a string that contains NUL, which PostgreSQL cannot store');
  return /\p{Surrogate}/u.test(key)
    ? refusal('a string that is not well-formed (lone surrogate)')
    : undefined;
}

function numberProblem(key: number): string | undefined {
  if (Object.is(key, -0)) return refusal('-0; use 0');
  if (Number.isSafeInteger(key)) return undefined;
  if (Number.isInteger(key)) return refusal('an integer beyond Number.MAX_SAFE_INTEGER; pass it as a bigint');
  return refusal(Number.isFinite(key) ? 'a number with a fraction' : 'a number that is not finite');
}

function refusal(got: string): string {
  return `a routing key is ${ACCEPTED}; got ${got}`;
}
