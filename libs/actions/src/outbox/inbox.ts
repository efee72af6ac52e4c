import { eventKey } from './event-key.js';
import type { ShardDb } from '@app/sharding';
import type { EventEnvelope } from './event-envelope.js';

/**
 * Runs `work` in one transaction with the inbox's row of (handler, event).
 *
 * @returns false where the row was there before; a concurrent attempt is waited for
 */
export async function onceInbox(
  db: ShardDb,
  { handler, event }: { readonly handler: string; readonly event: EventEnvelope },
  work: (tx: ShardDb) => Promise<unknown>,
): Promise<boolean> {
  return db.tx(async (tx) => {
    const taken = await tx.query(
      `insert into _sharding_inbox (handler, event_id, routing_key) values ($1, $2, $3)
      on conflict (handler, event_id) do nothing returning 1`,
      [handler, event.eventId, eventKey(event.routingKey).routingKey ?? null],
    );
    if (taken.length === 0) return false;
    await work(tx);
    return true;
  });
}
