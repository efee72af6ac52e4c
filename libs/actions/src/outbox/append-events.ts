import type { ShardDb } from '@app/sharding';
import type { OutboxEvent } from './outbox-event.js';

/** Writes events in their order, with one statement, in the transaction of the rows that they tell of. */
export async function appendEvents(tx: ShardDb, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length > 0) await tx.query(appendSql(1), [eventsParameter(events)]);
}

/** The statement that writes events, from the parameter of this number. It may stand in a `with`. */
export function appendSql(parameter: number): string {
  return `insert into _sharding_outbox
      (event_id, action_id, type, payload, routing_key, aggregate_id, occurred_at, headers)
    select event_id, action_id, type, payload, routing_key, aggregate_id, occurred_at, coalesce(headers, '{}')
    from jsonb_to_recordset($${parameter}::jsonb) as event (event_id uuid, action_id uuid, type text, payload jsonb,
      routing_key text, aggregate_id text, occurred_at timestamptz, headers jsonb)`;
}

export function eventsParameter(events: readonly OutboxEvent[]): string {
  return JSON.stringify(events.map(row));
}

function row(event: OutboxEvent): object {
  return {
    event_id: event.eventId,
    action_id: event.actionId,
    type: event.type,
    payload: event.payload,
    routing_key: event.routingKey,
    aggregate_id: event.aggregateId,
    occurred_at: event.occurredAt,
    headers: event.headers,
  };
}
