import { ShardingError } from '@app/routing';
import { applyPart } from './apply-part.js';
import { cancelAction } from './cancel-action.js';
import { completeParts, reasonOf } from './complete-parts.js';
import { storePart } from './part-statements.js';
import type { WrittenRow } from '../rows/write-rows.js';
import type { ActionDatabases } from './action-databases.js';
import type { Completing, StoredAction } from './complete-parts.js';
import type { PartContent } from './part-content.js';

/** An action over several shards, by part what it writes. */
export interface CrossShardRun extends StoredAction {
  readonly contents: readonly PartContent[];
}

/**
 * Writes an action over several shards: its journal, every part as pending on its own shard, then each part in a transaction
 * of its own. The first part decides: before its commit nothing has happened, after it nothing is computed again.
 *
 * @throws PartialCommit behind the first commit; AlreadyApplied; before it what has failed
 */
export async function runCrossShard(run: CrossShardRun, on: Completing): Promise<void> {
  const { databases } = on;
  await databases.journal.open(run);
  const written = await decide(run, on);
  on.applied?.(0, written);
  await completeParts(run, on);
}

/** Stores all parts and applies the first. */
async function decide(run: CrossShardRun, on: Completing): Promise<WrittenRow[] | undefined> {
  const { databases, limits } = on;
  const { actionId, shards } = run;
  try {
    await storeParts(run, databases);
    await on.before?.(0);
    const open = () => databases.shard(shards[0] ?? '');
    return await applyPart(open, { actionId, part: 0 }, { limits, isPassing: isUnknown });
  } catch (error) {
    if (await isApplied(run, databases, error)) return undefined;
    throw error;
  }
}

async function storeParts(run: CrossShardRun, { shard }: ActionDatabases): Promise<void> {
  const { actionId, action, contents } = run;
  for (const [part, name] of run.shards.entries()) {
    const content = contents[part];
    if (content) await storePart(await shard(name), { actionId, part, action, content });
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof ShardingError && error.code === 'commit_unknown';
}

/** What has failed is cancelled, which tells whether it was applied after all. */
async function isApplied(run: CrossShardRun, databases: ActionDatabases, error: unknown): Promise<boolean> {
  const state = await cancelAction(run, databases).catch(() => undefined);
  if (state !== undefined || !isUnknown(error)) return state === 'applied';
  await databases.journal.mark(run.actionId, 'pending', reasonOf(error)).catch(() => undefined);
  throw new ShardingError(
    'commit_unknown',
    `whether action ${run.action} was committed on shard "${run.shards[0]}" is not known, as the shard does not answer: "shardctl actions retry ${run.actionId}" completes it, or cancels it`,
    { cause: error },
  );
}
