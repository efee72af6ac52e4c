import type { ShardDb } from '@app/sharding';
import type { LeaseTerm } from './relay-lease.js';
import type { Failed, WaitingEvent } from './waiting-event.js';

/** Bound of each statement of a relay. */
export const STATEMENT_LIMIT_MS = 10_000;
const LIMITS = { deadlineMs: STATEMENT_LIMIT_MS };

/** No mark says up to where everything was read: a transaction that commits late is seen by the next look. */
const WAITING = `select position, event_id as "eventId", action_id as "actionId", type, payload, routing_key as "routingKey", key_kind as "keyKind",
    aggregate_id as "aggregateId", occurred_at as "occurredAt", headers, handled, attempts
  from _sharding_outbox as event
  where delivered_at is null and dead_at is null and aggregate_id <> all ($1::text[])
    and not exists (select from _sharding_outbox as held where held.aggregate_id = event.aggregate_id
      and held.retry_at > now() and held.delivered_at is null and held.dead_at is null)
  order by position limit $2`;

/** The oldest events that wait, in their order, but those of `apart` and of aggregates that a failed event holds. */
export function readWaiting(db: ShardDb, apart: readonly string[], limit: number): Promise<WaitingEvent[]> {
  return db.query<WaitingEvent[]>(WAITING, [apart, limit], LIMITS);
}

/** Nobody can take the lease before the statement has ended. */
const LEASE = `lease as (select from _sharding_relay where name = 'outbox' and holder = $1 and epoch = $2 for share)`;

const TAKE_AWAY = `with ${LEASE},
  gone as (delete from _sharding_outbox where position = any ($3::bigint[]) and exists (select from lease))
  select exists (select from lease) as held`;

const MARK = `with ${LEASE},
  marked as (update _sharding_outbox set delivered_at = now(), retry_at = null
    where position = any ($3::bigint[]) and exists (select from lease))
  select exists (select from lease) as held`;

/** @param keep `rows` leaves them, marked, to retention. @returns false where the lease is lost, and nothing was written */
export async function writeDelivered(
  db: ShardDb,
  term: LeaseTerm,
  { positions, keep }: { readonly positions: readonly string[]; readonly keep: 'rows' | 'nothing' },
): Promise<boolean> {
  const [row] = await db.query<{ held: boolean }[]>(
    keep === 'rows' ? MARK : TAKE_AWAY,
    [term.holder, term.epoch, positions],
    LIMITS,
  );
  return row?.held === true;
}

const FAILED = `with ${LEASE},
  failed as (update _sharding_outbox as event set attempts = event.attempts + 1, handled = outcome.handled,
      failure = outcome.failure, retry_at = now() + outcome."retryMs" * interval '1 millisecond',
      dead_at = case when outcome."retryMs" is null then now() end
    from jsonb_to_recordset($3::jsonb) as outcome (position bigint, attempts int, failure text,
      handled text[], "retryMs" double precision)
    where event.position = outcome.position and event.attempts = outcome.attempts and exists (select from lease))
  select exists (select from lease) as held`;

/** @returns false where the lease is lost, and nothing was written */
export async function writeFailed(
  db: ShardDb,
  term: LeaseTerm,
  outcomes: readonly Failed[],
): Promise<boolean> {
  const parameters = [term.holder, term.epoch, JSON.stringify(outcomes)];
  const [row] = await db.query<{ held: boolean }[]>(FAILED, parameters, LIMITS);
  return row?.held === true;
}
