/** The ok-or-error result of one shard. */
export type ShardOutcome<S, T> =
  | { readonly shard: S; readonly ok: true; readonly value: T }
  | { readonly shard: S; readonly ok: false; readonly error: unknown };

/**
 * Runs `work` on every shard, at most `width` at a time. One outcome a shard, in the given order; a failure, also a
 * synchronous one, is that shard's outcome and stops nothing.
 */
export async function fanOut<S, T>(
  shards: readonly S[],
  width: number,
  work: (shard: S) => Promise<T> | T,
): Promise<ShardOutcome<S, T>[]> {
  const outcomes = Array.from<ShardOutcome<S, T>>({ length: shards.length });
  const queue = shards.entries(); // shared by all lanes
  const lane = async () => {
    for (const [index, shard] of queue) {
      outcomes[index] = await Promise.resolve(shard)
        .then(work)
        .then(
          (value) => ({ shard, ok: true, value }) as const,
          (error: unknown) => ({ shard, ok: false, error }) as const,
        );
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, shards.length) }, lane));
  return outcomes;
}
