import { ShardingError } from '@app/routing';
import { isPassing, sqlState } from '../executor/retry-policy.js';
import { applyPart } from './apply-part.js';
import { PartialCommit } from './partial-commit.js';
import type { WrittenRow } from '../rows/write-rows.js';
import type { ActionDatabases } from './action-databases.js';
import type { ApplyLimits } from './apply-part.js';
import type { JournalEntry } from './journal.js';

/** An action whose parts are stored, by part the name of the shard. */
export type StoredAction = Pick<JournalEntry, 'actionId' | 'action' | 'shards'>;

/** What completes an action. */
export interface Completing {
  readonly databases: ActionDatabases;
  readonly limits: ApplyLimits;
  /** Before a part is applied. */
  readonly before?: (part: number) => Promise<void>;
  /** After the commit of a part, with what the database has set; undefined where it was applied before. */
  readonly applied?: (part: number, written: WrittenRow[] | undefined) => void;
}

const PASSING = new Set(['commit_unknown', 'shard_unavailable', 'deadline_exceeded']);

/** Also what is only the trouble of a database: the first part is committed, and nothing is computed anew. */
function mayPass(error: unknown): boolean {
  if (error instanceof ShardingError)
    return error.code !== 'stale_row' && (PASSING.has(error.code) || isPassing(error));
  return isPassing(error);
}

/**
 * Applies the parts behind the first, in order; one that fails ends it.
 *
 * @throws PartialCommit
 */
export async function completeParts(action: StoredAction, on: Completing): Promise<void> {
  const { journal } = on.databases;
  for (const [part, shard] of action.shards.entries()) {
    if (part === 0) continue;
    try {
      await on.before?.(part);
      const name = { actionId: action.actionId, part };
      const open = () => on.databases.shard(shard);
      const written = await applyPart(open, name, { limits: on.limits, isPassing: mayPass });
      on.applied?.(part, written);
    } catch (error) {
      await journal.mark(action.actionId, 'partial', reasonOf(error)).catch(() => undefined); // it says pending then
      throw partial(action, part, error);
    }
  }
  await journal.mark(action.actionId, 'applied').catch(() => undefined); // a retry finds every part applied
}

function partial({ actionId, action, shards }: StoredAction, part: number, cause: unknown): PartialCommit {
  const [committed, failed, notAttempted] = [
    shards.slice(0, part),
    shards[part] ?? '',
    shards.slice(part + 1),
  ];
  return new PartialCommit({ actionId, action, committed, failed, notAttempted }, cause);
}

/** A code, never content. */
export function reasonOf(error: unknown): string {
  return error instanceof ShardingError ? error.code : (sqlState(error) ?? 'error');
}
