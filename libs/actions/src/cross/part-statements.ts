import type { ShardDb } from '@app/sharding';
import type { PartContent, PartName, PartState, PartUndo } from './part-content.js';

/** A row of `_sharding_action_parts`. */
export interface StoredPart {
  readonly state: PartState;
  readonly content: PartContent;
  readonly undo: PartUndo | null;
}

export async function storePart(
  db: ShardDb,
  { actionId, part, action, content }: PartName & { readonly action: string; readonly content: PartContent },
): Promise<void> {
  await db.query(
    `insert into _sharding_action_parts (action_id, part, action, content) values ($1, $2, $3, $4)
    on conflict (action_id, part) do nothing`,
    [actionId, part, action, JSON.stringify(content)],
  );
}

/** Waits for whoever is at it, also for a transaction whose client is gone. */
export async function lockPart(tx: ShardDb, { actionId, part }: PartName): Promise<StoredPart | undefined> {
  const [row] = await tx.query<StoredPart[]>(
    `select state, content, undo from _sharding_action_parts where action_id = $1 and part = $2 for update`,
    [actionId, part],
  );
  return row;
}

export async function partState(db: ShardDb, { actionId, part }: PartName): Promise<PartState | undefined> {
  const [row] = await db.query<{ state: PartState }[]>(
    `select state from _sharding_action_parts where action_id = $1 and part = $2`,
    [actionId, part],
  );
  return row?.state;
}

/** What it was to write is done, and not kept; only how to put it back. */
export async function markApplied(tx: ShardDb, { actionId, part }: PartName, undo: PartUndo): Promise<void> {
  await tx.query(
    `update _sharding_action_parts set state = 'applied', content = '{}', undo = $3, changed_at = now()
    where action_id = $1 and part = $2`,
    [actionId, part, JSON.stringify(undo)],
  );
}

export async function markCompensated(tx: ShardDb, { actionId, part }: PartName): Promise<void> {
  await tx.query(
    `update _sharding_action_parts set state = 'compensated', undo = null, changed_at = now()
    where action_id = $1 and part = $2`,
    [actionId, part],
  );
}

/**
 * A part that was not applied never will be, also one that was not stored yet.
 *
 * @returns the state that it has then
 */
export async function cancelPart(
  db: ShardDb,
  { actionId, part, action }: PartName & { readonly action: string },
): Promise<PartState | undefined> {
  await db.query(
    `insert into _sharding_action_parts as own (action_id, part, action, state, content)
    values ($1, $2, $3, 'cancelled', '{}')
    on conflict (action_id, part) do update set state = 'cancelled', content = '{}', changed_at = now()
      where own.state = 'pending'`,
    [actionId, part, action],
  );
  return partState(db, { actionId, part });
}

export async function deleteParts(db: ShardDb, actionIds: readonly string[]): Promise<void> {
  await db.query('delete from _sharding_action_parts where action_id = any($1::uuid[])', [actionIds]);
}
