import type { ShardDb } from '@app/sharding';
import type { Asked } from './dead-letters.js';

/** What waits on one shard. */
export interface OutboxStatus {
  /** Events that wait, counted up to {@link COUNT_LIMIT}. */
  readonly depth: number;
  /** Age of the oldest of them; 0 where none waits. */
  readonly lagSeconds: number;
  /** Dead letters, counted up to {@link COUNT_LIMIT}. */
  readonly dead: number;
  /** Sagas that wait for somebody to mend something, counted up to {@link COUNT_LIMIT}. */
  readonly stuckSagas: number;
}

/** No question costs more, however much has piled up. */
export const COUNT_LIMIT = 10_000;
const OLDEST = 100;

const WAITS = 'delivered_at is null and dead_at is null';

/** Of any client: for the relays and for the command line. */
export const READ_STATUS = `select
  (select count(*)::int from (select from _sharding_outbox where ${WAITS} limit ${COUNT_LIMIT}) as waiting) as depth,
  (select count(*)::int from (select from _sharding_outbox where dead_at is not null limit ${COUNT_LIMIT}) as gone) as dead,
  (select count(*)::int from (select from _sharding_saga where state = 'stuck' limit ${COUNT_LIMIT}) as stuck) as "stuckSagas",
  (select greatest(0, coalesce(extract(epoch from now() - min(occurred_at)), 0))::float8 from
    (select occurred_at from _sharding_outbox where ${WAITS} order by position limit ${OLDEST}) as oldest) as "lagSeconds"`;

/** @throws ShardingError `shard_unavailable`, `deadline_exceeded` */
export async function readStatus(db: ShardDb, limitMs: number): Promise<OutboxStatus> {
  const [row] = await db.query<OutboxStatus[]>(READ_STATUS, [], { deadlineMs: limitMs });
  return row ?? { depth: 0, lagSeconds: 0, dead: 0, stuckSagas: 0 };
}

/** With whether a relay delivers. */
export interface AskedStatus extends Omit<OutboxStatus, 'stuckSagas'> {
  readonly relay: 'on' | 'nobody';
}

const READ_RELAY = `select coalesce(bool_or(holder is not null and expires_at > clock_timestamp()), false) as held
  from _sharding_relay where name = 'outbox'`;

/** By a client of its own. */
export async function askStatus(shard: Asked): Promise<AskedStatus> {
  const { rows } = await shard.query<OutboxStatus>(READ_STATUS);
  const { rows: relays } = await shard.query<{ held: boolean }>(READ_RELAY);
  return { depth: 0, lagSeconds: 0, dead: 0, ...rows[0], relay: relays[0]?.held ? 'on' : 'nobody' };
}
