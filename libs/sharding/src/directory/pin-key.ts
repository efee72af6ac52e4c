import { ShardingError } from '@app/routing';

/** `_sharding_directory` refuses longer keys too. */
export const MAX_KEY_BYTES = 255;

/** The refusal of a key that is longer. */
export function tooLong(key: string): ShardingError | undefined {
  if (Buffer.byteLength(key) <= MAX_KEY_BYTES) return undefined;
  return new ShardingError(
    'invalid_routing_key',
    `a routing key of the directory has at most ${MAX_KEY_BYTES} bytes in UTF-8`,
  );
}

/** @throws ShardingError `invalid_routing_key` */
export function assertShort(key: string): void {
  const refusal = tooLong(key);
  if (refusal) throw refusal;
}
