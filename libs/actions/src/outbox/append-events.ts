import type { ShardDb } from '@app/sharding';
import type { OutboxEvent } from './outbox-event.js';

const COLUMNS =
  'event_id, action_id, type, payload, routing_key, key_kind, aggregate_id, occurred_at, headers';

/** Writes events in their order, with one statement, in the transaction of the rows that they tell of. */
export async function appendEvents(tx: ShardDb, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  const { sql, parameters } = appendStatement(events, 1);
  await tx.query(sql, parameters);
}

/**
 * The statement that writes events; it may stand in a `with`. One event is values, which the server reads faster than JSON.
 *
 * @param first number of its first parameter
 */
export function appendStatement(
  events: readonly OutboxEvent[],
  first: number,
): { readonly sql: string; readonly parameters: unknown[] } {
  const [only, ...others] = events.map(row);
  if (only && others.length === 0) {
    const { payload, headers = {}, ...values } = only;
    const parameters = [
      ...Object.values(values).map((value) => value ?? null),
      JSON.stringify(payload),
      JSON.stringify(headers),
    ];
    const names = [...Object.keys(values), 'payload', 'headers'].join(', ');
    const numbers = parameters.map((_value, index) => `$${first + index}`).join(', ');
    return { sql: `insert into _sharding_outbox (${names}) values (${numbers})`, parameters };
  }
  return {
    sql: `insert into _sharding_outbox (${COLUMNS})
    select event_id, action_id, type, payload, routing_key, key_kind, aggregate_id, occurred_at, coalesce(headers, '{}')
    from jsonb_to_recordset($${first}::jsonb) as event (event_id uuid, action_id uuid, type text, payload jsonb,
      routing_key text, key_kind text, aggregate_id text, occurred_at timestamptz, headers jsonb)`,
    parameters: [JSON.stringify(events.map(row))],
  };
}

function row(event: OutboxEvent) {
  return {
    event_id: event.eventId,
    action_id: event.actionId,
    type: event.type,
    payload: event.payload,
    routing_key: event.routingKey,
    key_kind: event.keyKind ?? 'text',
    aggregate_id: event.aggregateId,
    occurred_at: event.occurredAt,
    headers: event.headers,
  };
}
