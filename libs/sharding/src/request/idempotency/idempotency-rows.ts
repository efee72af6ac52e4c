import { rowsOf } from '../../shards/rows-of.js';
import type { QueryRunner } from 'typeorm';

/** One request with a key. */
export interface KeyedRequest {
  readonly scope: string;
  readonly key: string;
  readonly routingKey: string | null;
  readonly fingerprint: string;
  readonly retentionHours: number;
}

export interface StoredAnswer {
  readonly fingerprint: string;
  readonly status: number;
  /** Undefined for an empty answer. */
  readonly answer: unknown;
}

/**
 * Takes the key for the rest of the transaction. False: somebody has it, or had it. An answer that is no longer kept does
 * not count. The lock is tried for, not waited for: a duplicate that waits holds no connection.
 */
export async function claim(runner: QueryRunner, request: KeyedRequest): Promise<boolean> {
  const { scope, key, routingKey, fingerprint, retentionHours } = request;
  const sql = `insert into _sharding_idempotency as stored (scope, key, routing_key, fingerprint, expires_at)
    select $1::text, $2::text, $3, $4, now() + $5::int * interval '1 hour'
    where pg_try_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))
    on conflict (scope, key) do update set fingerprint = excluded.fingerprint, status = null, answer = null,
      created_at = now(), expires_at = excluded.expires_at
    where stored.expires_at < now()
    returning 1`;
  return (await rowsOf(runner, sql, [scope, key, routingKey, fingerprint, retentionHours])).length > 0;
}

/** What an earlier request was answered; undefined while it runs, and when it failed. */
export async function storedAnswer(
  runner: QueryRunner,
  { scope, key }: KeyedRequest,
): Promise<StoredAnswer | undefined> {
  const sql = `select fingerprint, status, answer::text as json from _sharding_idempotency
    where scope = $1 and key = $2 and expires_at >= now() and status is not null`;
  const [row] = await rowsOf<Omit<StoredAnswer, 'answer'> & { json: string | null }>(runner, sql, [
    scope,
    key,
  ]);
  return row && { ...row, answer: row.json === null ? undefined : (JSON.parse(row.json) as unknown) };
}

export async function storeAnswer(
  runner: QueryRunner,
  { scope, key }: KeyedRequest,
  { status, json }: { readonly status: number; readonly json: string | null },
): Promise<void> {
  const sql = `update _sharding_idempotency set status = $3, answer = $4 where scope = $1 and key = $2`;
  await rowsOf(runner, sql, [scope, key, status, json]);
}

/** Deletes up to so many answers that are no longer kept; gives how many. */
export async function deleteExpired(runner: QueryRunner, count: number): Promise<number> {
  const sql = `delete from _sharding_idempotency where (scope, key) in (
      select scope, key from _sharding_idempotency where expires_at < now() and not _sharding_rows_move()
      order by expires_at limit $1 for update skip locked)
    returning 1`;
  return (await rowsOf(runner, sql, [count])).length;
}
