import { ShardingError } from '@app/routing';
import { askPlace } from './ask-place.js';
import { failureOf, type Failure } from './failure.js';
import type { ShardPlace } from '@app/sharding/operator';
import type { Client } from 'pg';
import type { Rows } from './one-statement.js';

/** How a statement runs on every shard. */
export interface QueryPlan {
  readonly sql: string;
  readonly mode: 'readonly' | 'write';
  /** Rows of each shard. */
  readonly limit: number;
  /** Of the statement, on the server. */
  readonly timeoutMs: number;
}

/** What one shard has answered. */
export type ShardAnswer =
  | { readonly shard: string; readonly ok: true; readonly rows: Rows }
  | { readonly shard: string; readonly ok: false; readonly error: Failure };

/** Shards at a time. */
const WIDTH = 8;
/** To connect, and for the words around the statement. */
const AROUND_MS = 5000;

/** Runs one statement on every shard, each in a transaction of its own; one that fails stops no other. */
export async function queryShards(
  places: readonly ShardPlace[],
  plan: QueryPlan,
  signal: AbortSignal,
): Promise<ShardAnswer[]> {
  const { fanOut } = await import('@app/sharding/operator');
  const limitMs = plan.timeoutMs + AROUND_MS;
  const outcomes = await fanOut(places, WIDTH, (place) => {
    const sent: Sent = { commit: false };
    return askPlace(place, { limitMs, signal }, (client) => inTransaction(client, plan, sent)).catch(
      (error: unknown) => {
        throw sent.commit ? commitFailure(error) : error;
      },
    );
  });
  if (plan.mode === 'readonly') signal.throwIfAborted(); // of writes it is told what was committed
  return outcomes.map((outcome): ShardAnswer => {
    const { shard } = outcome.shard;
    if (outcome.ok) return { shard, ok: true, rows: outcome.value };
    return { shard, ok: false, error: queryFailure(outcome.error, plan, signal) };
  });
}

/** How far a transaction has come. What ends it then, also a limit of time, says whether it may have committed. */
interface Sent {
  commit: boolean;
}

async function inTransaction(client: Client, plan: QueryPlan, sent: Sent): Promise<Rows> {
  const { sql, mode, limit, timeoutMs } = plan;
  const { oneStatement } = await import('./one-statement.js');
  const limited = `set local statement_timeout = ${timeoutMs}`;
  if (mode === 'readonly') {
    await client.query(`start transaction read only; ${limited}; select 1`); // from the first snapshot on it stays so
    const rows = await oneStatement(client, sql, limit);
    await client.query('rollback');
    return rows;
  }
  await client.query(`start transaction; ${limited}`);
  const rows = await oneStatement(client, sql, limit);
  sent.commit = true;
  const { command } = await client.query('commit');
  if (command !== 'COMMIT') throw new ShardingError('transaction_aborted', 'nothing was committed');
  return rows;
}

/** What the server has refused was not done: a deferred constraint. Everything else may have been. */
function commitFailure(cause: unknown): unknown {
  if (cause instanceof ShardingError || /^(?!08|57P)[0-9A-Z]{5}$/.test(failureOf(cause).code)) return cause;
  return new ShardingError(
    'commit_unknown',
    'the commit was sent and not answered: look before you repeat the statement',
    { cause },
  );
}

function queryFailure(error: unknown, { timeoutMs, mode }: QueryPlan, signal: AbortSignal): Failure {
  const failure = failureOf(error);
  const { code, message } = failure;
  if (signal.aborted && (code === '57014' || error === signal.reason)) {
    return { code: 'interrupted', message: 'nothing was changed: interrupted' };
  }
  if (code === '57014' || code === 'timeout') {
    return { code, message: `it was not done within ${timeoutMs / 1000} s; see --timeout` };
  }
  if (code === '25006' && mode === 'readonly')
    return { code, message: `${message}; to change rows say --write` };
  return failure;
}
