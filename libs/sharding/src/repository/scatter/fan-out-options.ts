import { ShardingError } from '@app/routing';

/** How a scatter runs. */
export interface ScatterLimits {
  /** Shards at a time. Default 4. */
  readonly width?: number;
  /** Bound for each shard, from its start; of a stream for the whole of it. Default 30000; a stream has none. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  /** The shards of this group only; one without shards is `out_of_topology`. */
  readonly group?: number;
}

/** All shards, or none: the first that fails, by declaration order, is the error. */
export interface AllShards extends ScatterLimits {
  readonly shards?: 'all';
  readonly quorum?: undefined;
}

/** Those that answer: at least one with `partial`, at least `quorum`; the answer says which are missing. */
export type SomeShards = ScatterLimits &
  (
    | { readonly shards: 'partial'; readonly quorum?: undefined }
    | { readonly quorum: number; readonly shards?: undefined }
  );

/** A shard that gave no answer. */
export interface MissingShard {
  readonly shard: string;
  /** Code of the `ShardingError`, such as `shard_unavailable`. */
  readonly code: string;
}

/** {@link AllShards} or {@link SomeShards}, checked and complete. */
export interface FanOutPlan {
  readonly width: number;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
  /** How many shards must answer; undefined: all. */
  readonly quorum: number | undefined;
}

const DEFAULT_WIDTH = 4;
const DEFAULT_DEADLINE_MS = 30_000;

/** @throws ShardingError `invalid_options` */
export function fanOutPlan(options: AllShards | SomeShards, shardCount: number): FanOutPlan {
  const { width = DEFAULT_WIDTH, deadlineMs = DEFAULT_DEADLINE_MS, signal } = options;
  assertWhole('width', width, { least: 1 });
  return { width, deadlineMs, signal, quorum: quorumOf(options, shardCount) };
}

/** @throws ShardingError `invalid_options` */
export function assertWhole(
  name: string,
  value: unknown,
  { least, most = Number.MAX_SAFE_INTEGER }: { readonly least: number; readonly most?: number },
): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new ShardingError('invalid_options', `${name} is a whole number ${range}`);
}

function quorumOf({ shards, quorum }: AllShards | SomeShards, shardCount: number): number | undefined {
  if (shards !== undefined && quorum !== undefined) {
    throw new ShardingError('invalid_options', 'give `shards` or `quorum`, not both');
  }
  if (shards === 'partial') return 1;
  if (shards !== undefined && shards !== 'all') {
    throw new ShardingError('invalid_options', "shards is 'all' or 'partial'");
  }
  if (quorum !== undefined) assertWhole('quorum', quorum, { least: 1, most: shardCount });
  return quorum;
}
