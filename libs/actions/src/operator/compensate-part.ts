import { randomUUID } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { lockPart, markCompensated } from '../cross/part-statements.js';
import { appendEvents } from '../outbox/append-events.js';
import { undoRow } from '../undo/undo-row.js';
import type { ShardDb } from '@app/sharding';
import type { PartName, PartUndo } from '../cross/part-content.js';

/** The type of the event that tells of an undone part. */
export const COMPENSATED_EVENT = 'sharding.action_compensated';

interface CompensatedPart extends PartName {
  readonly action: string;
}

/**
 * Puts back what a part has written, the last row first, in one transaction with an event; does nothing where it was not
 * applied, or was put back before.
 *
 * @throws ShardingError `stale_row` where a row was changed since, which keeps all of the part as it is
 */
export async function compensatePart(tx: ShardDb, part: CompensatedPart): Promise<void> {
  const stored = await lockPart(tx, part);
  if (stored?.state !== 'applied') return;
  const undo = stored.undo ?? { rows: [] };
  for (const row of undo.rows.toReversed()) {
    if (!(await undoRow(tx, row))) throw changedSince(row.entity, tx, part);
  }
  await appendEvents(tx, [eventOf(part, undo)]);
  await markCompensated(tx, part);
}

function changedSince(entity: string, { shard }: ShardDb, { part }: CompensatedPart): ShardingError {
  return new ShardingError(
    'stale_row',
    `part ${part} cannot be undone: a row of ${entity} on shard "${shard.name}" was changed after the action; put it right by hand, or complete the action with retry`,
  );
}

function eventOf({ actionId, action, part }: CompensatedPart, { routingKey, keyKind }: PartUndo) {
  return {
    eventId: randomUUID(),
    actionId,
    type: COMPENSATED_EVENT,
    payload: { actionId, action, part },
    routingKey,
    keyKind,
    aggregateId: actionId,
    occurredAt: new Date(),
  };
}
