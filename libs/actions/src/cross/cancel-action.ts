import { cancelPart } from './part-statements.js';
import type { ActionDatabases } from './action-databases.js';
import type { StoredAction } from './complete-parts.js';
import type { PartState } from './part-content.js';

/**
 * Cancels an action whose first part is not applied: that one first, which decides, then the others.
 *
 * @returns `applied` where the first part was applied before, and nothing is cancelled
 */
export async function cancelAction(
  { actionId, action, shards }: StoredAction,
  { shard, journal }: ActionDatabases,
): Promise<PartState | undefined> {
  const [first = '', ...others] = shards;
  const state = await cancelPart(await shard(first), { actionId, part: 0, action });
  if (state !== 'cancelled') return state;
  for (const [index, name] of others.entries()) {
    // without the first part nobody applies it; its content is then deleted with the journal's row
    await shard(name)
      .then((db) => cancelPart(db, { actionId, part: index + 1, action }))
      .catch(() => undefined);
  }
  await journal.mark(actionId, 'cancelled');
  return state;
}
