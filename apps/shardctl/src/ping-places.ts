import { askPlace } from './ask-place.js';
import { failureOf, type Failure } from './failure.js';
import type { Place } from '@app/sharding/operator';
import type { Client } from 'pg';

/** What one target says of itself. */
export interface Pong {
  readonly target: string;
  /** As configured. */
  readonly role: 'primary' | 'replica';
  /** It answers, and is what it is configured as. */
  readonly ok: boolean;
  /** Until a statement could be sent. */
  readonly connect_ms: number | null;
  /** Of one statement. */
  readonly latency_ms: number | null;
  readonly version: string | null;
  /** Of a replica: the age of the last transaction it has replayed; 0 when it has all that its primary has written. */
  readonly lag_ms: number | null;
  /** Of write-ahead log that it has not replayed; null while the primary does not say. */
  readonly lag_bytes: number | null;
  readonly problem: Failure | null;
}

const FACTS = `select current_setting('server_version') as version, pg_is_in_recovery() as recovering,
    current_setting('transaction_read_only') as read_only,
    (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text as lsn,
    (extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::float8 as age`;

interface Facts {
  readonly version: string;
  readonly recovering: boolean;
  readonly read_only: 'on' | 'off';
  readonly lsn: string | null;
  readonly age: number | null;
}

/** The answer of one database, before it is compared with those of others. */
export interface Answer {
  readonly place: Place;
  readonly connectMs?: number;
  readonly latencyMs?: number;
  readonly facts?: Facts;
  readonly failure?: Failure;
}

/** Asks one database; never rejects but when interrupted. */
export async function ping(place: Place, limitMs: number, signal: AbortSignal): Promise<Answer> {
  const began = performance.now();
  try {
    return await askPlace(place, { limitMs, signal }, async (client) => {
      const connectMs = performance.now() - began;
      return { place, connectMs, ...(await factsOf(client)) };
    });
  } catch (error) {
    signal.throwIfAborted();
    const failure = failureOf(error);
    return {
      place,
      failure:
        failure.code === 'timeout' ? { ...failure, message: `no answer within ${limitMs} ms` } : failure,
    };
  }
}

async function factsOf(client: Client): Promise<{ facts: Facts; latencyMs: number }> {
  const asked = performance.now();
  const { rows } = await client.query<Facts>(FACTS);
  const [facts] = rows;
  if (!facts) throw new Error('the server answered with no row');
  return { facts, latencyMs: performance.now() - asked };
}

/** What is told of every answer; a replica is compared with its primary's. */
export async function pongs(answers: readonly Answer[]): Promise<Pong[]> {
  const { bytesBehind } = await import('@app/sharding/operator');
  return answers.map((answer) => {
    const written = primaryOf(answer, answers)?.facts?.lsn;
    return pong(answer, bytesBehind(answer.facts?.lsn, written) ?? null);
  });
}

function primaryOf({ place }: Answer, answers: readonly Answer[]): Answer | undefined {
  return answers.find(
    ({ place: other }) => other.role === 'primary' && other.settings.target === place.settings.target,
  );
}

function pong({ place, connectMs, latencyMs, facts, failure }: Answer, behind: number | null): Pong {
  const { role } = place;
  const problem = failure ?? (facts ? roleProblem(role, facts) : null);
  const lag = role === 'replica' && facts?.recovering ? lagOf(facts, behind) : NO_LAG;
  return {
    target: place.settings.target,
    role,
    ok: problem === null,
    connect_ms: rounded(connectMs),
    latency_ms: rounded(latencyMs),
    version: facts?.version ?? null,
    ...lag,
    problem,
  };
}

function roleProblem(role: 'primary' | 'replica', { recovering, read_only }: Facts): Failure | null {
  if (role === 'replica') {
    return recovering ? null : { code: 'wrong_role', message: 'is no replica: it is not in recovery' };
  }
  if (recovering) return { code: 'wrong_role', message: 'is a replica: a primary is configured here' };
  return read_only === 'on'
    ? { code: 'read_only', message: 'takes no writes (default_transaction_read_only)' }
    : null;
}

const NO_LAG = { lag_ms: null, lag_bytes: null };

function lagOf({ age }: Facts, behind: number | null): Pick<Pong, 'lag_ms' | 'lag_bytes'> {
  return { lag_bytes: behind, lag_ms: behind === 0 ? 0 : age === null ? null : Math.max(0, Math.round(age)) };
}

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 10) / 10;
}
