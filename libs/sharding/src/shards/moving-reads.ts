import { notOwnedRows } from './not-owned.js';
import type { MaybePromise } from './maybe-promise.js';
import type { NotOwned, RoutingParts } from './not-owned.js';
import type { HeldMoves } from './open-move.js';

/** One read of all shards: what each of them leaves out; whoever begins it ends it. */
export interface WholeRead {
  readonly notOwned: readonly NotOwned[];
  /** Before the answer is given. @throws ShardingError `shard_moved` where rows may have been counted twice, or not at all */
  check?(): Promise<void>;
  end(): void;
}

/** What moves now; the directory's part. */
export type HoldMoves = () => MaybePromise<HeldMoves>;

/** Begins a read of all shards. @throws ShardingError `directory_unavailable` */
export async function beginWholeRead(hold: HoldMoves, parts: RoutingParts): Promise<WholeRead> {
  const { moves, ...held } = await hold();
  if (moves.length === 0) return { notOwned: [], ...held };
  try {
    return { notOwned: await notOwnedRows(moves, parts), ...held };
  } catch (error) {
    held.end();
    throw error;
  }
}
