import { ShardingError } from '@app/routing';
import { MigrationFailed, type TargetResult } from './target-result.js';
import type { MigrationLog } from './migration-limits.js';
import type { MigrationTarget } from './migration-target.js';

/** Told when a target has ended. */
export interface MigrationProgress {
  readonly finished: number;
  readonly total: number;
  readonly result: TargetResult;
}

/** In which order targets run. */
export interface RunOrder {
  /** Targets at a time, behind control and the canary. Default 1. */
  readonly parallel?: number;
  /** The name of the shard that goes first and alone. */
  readonly canary?: string;
  /** Whether the others may follow the canary; what is left is then not attempted. Default: they may. */
  readonly afterCanary?: (canary: TargetResult) => Promise<boolean>;
  readonly progress?: (progress: MigrationProgress) => void;
  /** Control comes last. */
  readonly reversed?: 'yes';
  /** Whether a failure stops the others; always by default. */
  readonly stopsAt?: (result: TargetResult) => boolean;
}

/** What becomes of a run over all targets. */
interface RunEnd {
  readonly log: MigrationLog;
  /** What the failed targets threw. */
  readonly causes: ReadonlyMap<string, unknown>;
  /** What to say of targets that failed. */
  readonly failed: (targets: string) => string;
}

/** @param following the targets whose turn comes after it; none where others run beside it */
type RunOne = (target: MigrationTarget, following: readonly MigrationTarget[]) => Promise<TargetResult>;

/**
 * Runs all targets, and tells the log of those that were not attempted.
 *
 * @returns one result a target, in their order
 * @throws MigrationFailed with the results
 */
export async function runTargets(
  targets: readonly MigrationTarget[],
  order: RunOrder & RunEnd,
  run: RunOne,
): Promise<readonly TargetResult[]> {
  const results = await inOrder(targets, order, run);
  const { log, causes, failed, stopsAt = () => true } = order;
  for (const { target, state } of results) {
    if (state === 'not_attempted') log(`target=${target} not attempted`);
  }
  const stopped = results.filter((result) => result.state === 'failed' && stopsAt(result));
  const [first] = stopped;
  if (!first) return results;
  const names = stopped.map(({ target }) => target).join(', ');
  throw new MigrationFailed(failed(names), results, causes.get(first.target));
}

/** Stops at the first failure; what runs already comes to its end. */
async function inOrder(
  targets: readonly MigrationTarget[],
  order: RunOrder,
  run: RunOne,
): Promise<TargetResult[]> {
  const results = targets.map<TargetResult>(({ name }) => notAttempted(name));
  const { stopsAt = () => true, progress } = order;
  let finished = 0;
  let stopped = false;
  const runOne: RunOne = async (target, following) => {
    const result = await run(target, following);
    results[targets.indexOf(target)] = result;
    stopped ||= result.state === 'failed' && stopsAt(result);
    progress?.({ finished: ++finished, total: targets.length, result });
    return result;
  };
  for (const { members, width, asks } of stagesOf(targets, order)) {
    const queue = members.entries(); // shared by all lanes
    const lane = async () => {
      for (const [index, target] of queue) {
        if (stopped) return;
        const result = await runOne(target, width === 1 ? members.slice(index + 1) : []);
        if (asks && !stopped) stopped = !(await asks(result));
      }
    };
    await Promise.all(Array.from({ length: Math.min(width, members.length) }, lane));
  }
  return results;
}

interface Stage {
  readonly members: readonly MigrationTarget[];
  readonly width: number;
  readonly asks?: RunOrder['afterCanary'];
}

function stagesOf(targets: readonly MigrationTarget[], order: RunOrder): Stage[] {
  const { parallel: width = 1, canary, afterCanary, reversed } = order;
  const control = targets.filter(({ shard }) => shard === undefined);
  const shards = targets.filter(({ shard }) => shard !== undefined);
  const first = shards.filter(({ shard }) => shard === canary);
  if (canary !== undefined && first.length === 0) {
    const known = shards.map(({ shard }) => shard).join(', ');
    throw new ShardingError(
      'unknown_shard',
      `unknown shard "${canary}" for the canary; known shards: ${known}`,
    );
  }
  const rest = shards.filter(({ shard }) => canary === undefined || shard !== canary);
  const alone = { members: control, width: 1 };
  if (reversed) return [{ members: shards, width: 1 }, alone];
  return [
    alone,
    { members: first, width: 1, ...(afterCanary && rest.length > 0 && { asks: afterCanary }) },
    { members: rest, width },
  ];
}

function notAttempted(target: string): TargetResult {
  return { target, state: 'not_attempted', names: [], interleaved: [], ms: 0 };
}
