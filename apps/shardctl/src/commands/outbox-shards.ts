import { askPlace } from '../ask-place.js';
import { failureOf, type Failure } from '../failure.js';
import type { Client } from 'pg';
import type { Session } from '../verb.js';

export interface OutboxVerbOptions {
  readonly shard?: string;
  readonly type?: string;
  readonly all?: true;
  readonly limit?: number;
}

/** What one shard has answered. */
export type OutboxAnswer<T> =
  | { readonly shard: string; readonly ok: true; readonly value: T }
  | { readonly shard: string; readonly ok: false; readonly error: Failure };

/** Shards at a time. */
const WIDTH = 8;
const LIMIT_MS = 15_000;
const UNDEFINED_TABLE = '42P01';

/** Asks every shard, or one; one that fails stops no other. */
export async function askOutboxes<T>(
  shard: string | undefined,
  session: Session,
  work: (client: Client) => Promise<T>,
): Promise<OutboxAnswer<T>[]> {
  const { fanOut, shardPlaces } = await import('@app/sharding/operator');
  const { signal } = session;
  const places = shardPlaces(await session.settings(), shard);
  const outcomes = await fanOut(places, WIDTH, (place) =>
    askPlace(place, { limitMs: LIMIT_MS, signal }, work),
  );
  return outcomes.map((outcome): OutboxAnswer<T> => {
    const { shard: name } = outcome.shard;
    return outcome.ok
      ? { shard: name, ok: true, value: outcome.value }
      : { shard: name, ok: false, error: outboxFailure(outcome.error) };
  });
}

/** The failures as notes for stderr. */
export function outboxNotes(answers: readonly OutboxAnswer<unknown>[]): string[] {
  return answers.flatMap((answer) =>
    answer.ok ? [] : [`shard ${answer.shard}: ${answer.error.message} (${answer.error.code})`],
  );
}

function outboxFailure(error: unknown): Failure {
  const failure = failureOf(error);
  if (failure.code !== UNDEFINED_TABLE) return failure;
  return { code: 'migrations_pending', message: 'it has no outbox yet: run shardctl migrate up' };
}
