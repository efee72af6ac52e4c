import { randomUUID } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { readLedger, writeLedger } from './ledger-statements.js';
import type { LedgerPlace } from './idempotency.js';
import type { LedgerRow } from './ledger-row.js';

/** The `runParts` of an execution that was given up: nothing of it was written, nor will be. */
export const GIVEN_UP = 0;

/** How an execution has ended: with its result, or given up. */
export type ExecutionEnd = { readonly applied: true; readonly result: unknown } | { readonly applied: false };

/**
 * Decides that an execution is not done, unless it was: whichever of both is committed first in the ledger holds. One that is
 * about to be committed is waited for.
 *
 * @throws ShardingError `deadline_exceeded`, and those of its home's database
 */
export async function giveUp(
  { actionId, home, routingKey, paramsHash }: LedgerPlace,
  action: string,
  timeoutMs: number,
): Promise<ExecutionEnd> {
  const row = {
    actionId,
    action,
    routingKey,
    paramsHash,
    runId: randomUUID(),
    runParts: GIVEN_UP,
    result: {},
  };
  const db = await home.primary();
  if (await db.tx((tx) => writeLedger(tx, row), { timeoutMs })) return { applied: false };
  const stored = await readLedger(db, actionId);
  if (!stored || stored.runParts === GIVEN_UP) return { applied: false };
  return { applied: true, result: stored.result.value };
}

/** @throws ShardingError `action_refused` for an execution that was given up */
export function assertNotGivenUp({ runParts, action }: LedgerRow): void {
  if (runParts !== GIVEN_UP) return;
  throw new ShardingError('action_refused', `this execution of ${action} was given up before it was done`);
}
