import { ShardingError } from '@app/routing';

/** Which generated ids a shard may use: `ordinal + 1`, then every `stride`-th. */
export interface IdentityPlan {
  readonly ordinal: number;
  readonly stride: number;
}

/** One row of `_sharding_identities`. */
export interface RecordedOrdinal extends IdentityPlan {
  readonly name: string;
}

/** @throws ShardingError `invalid_options` */
export function assertStride(shard: string, recorded: number, stride: number): void {
  if (recorded === stride) return;
  throw new ShardingError(
    'invalid_options',
    `identity_stride is ${stride}, and the ids of shard "${shard}" were given in steps of ${recorded}: it cannot be changed any more, set it back`,
  );
}

/**
 * Gives the shards that have no ordinal yet the next ones, in declaration order. One that was given once is never given
 * again, also when its shard has gone.
 *
 * @returns of the shards that had none
 * @throws ShardingError `invalid_options` when the recorded stride is another one, or no ordinal is left
 */
export function newOrdinals(
  shards: readonly string[],
  recorded: readonly RecordedOrdinal[],
  stride: number,
): RecordedOrdinal[] {
  for (const { name, stride: own } of recorded) assertStride(name, own, stride);
  const known = new Set(recorded.map(({ name }) => name));
  const first = Math.max(-1, ...recorded.map(({ ordinal }) => ordinal)) + 1;
  const fresh = shards
    .filter((name) => !known.has(name))
    .map((name, index) => ({ name, ordinal: first + index, stride }));
  const beyond = fresh.find(({ ordinal }) => ordinal >= stride);
  if (!beyond) return fresh;
  throw new ShardingError(
    'invalid_options',
    `shard "${beyond.name}" would be number ${beyond.ordinal + 1} in the life of this deployment, and identity_stride = ${stride} has room for ${stride}; set interleave_identities = false, and take other ids`,
  );
}
