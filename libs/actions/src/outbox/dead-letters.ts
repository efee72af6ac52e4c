/** What is used of a `pg` client. */
export interface Asked {
  query<Row>(
    sql: string,
    parameters?: unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount?: number | null }>;
}

/** An event that nobody could take; without its payload. */
export interface DeadLetter {
  readonly eventId: string;
  readonly type: string;
  readonly routingKey: string | null;
  readonly aggregateId: string;
  readonly attempts: number;
  /** Who could not take it last, and why. */
  readonly failure: string;
  readonly occurredAt: Date;
  readonly deadAt: Date;
}

/** Which dead letters. */
export interface DeadLetterChoice {
  /** Ids of events; undefined: every one. */
  readonly eventIds?: readonly string[] | undefined;
  readonly type?: string | undefined;
  readonly limit: number;
}

const CHOSEN = `dead_at is not null and ($1::uuid[] is null or event_id = any ($1)) and ($2::text is null or type = $2)`;

/** Of one shard, the newest first. */
export async function deadLetters(shard: Asked, choice: DeadLetterChoice): Promise<DeadLetter[]> {
  const { rows } = await shard.query<DeadLetter>(
    `select event_id as "eventId", type, routing_key as "routingKey", aggregate_id as "aggregateId", attempts,
      coalesce(failure, '') as failure, occurred_at as "occurredAt", dead_at as "deadAt"
    from _sharding_outbox where ${CHOSEN} order by dead_at desc, position desc limit $3`,
    [choice.eventIds ?? null, choice.type ?? null, choice.limit],
  );
  return rows;
}

/**
 * Makes dead letters of one shard events that wait again, the oldest first; handlers that have taken them do not get them.
 * Later events of their aggregates were delivered meanwhile.
 *
 * @returns how many
 */
export async function requeueDead(shard: Asked, choice: DeadLetterChoice): Promise<number> {
  const { rows } = await shard.query<{ position: string }>(
    `update _sharding_outbox set dead_at = null, attempts = 0, retry_at = null, failure = null
    where position in (select position from _sharding_outbox where ${CHOSEN} order by position limit $3 for update)
    returning position`,
    [choice.eventIds ?? null, choice.type ?? null, choice.limit],
  );
  return rows.length;
}
