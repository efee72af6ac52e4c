import { ShardingError } from '@app/routing';
import { assertNotGivenUp } from './give-up.js';
import { readLedger } from './ledger-statements.js';
import type { ActionDatabases } from '../cross/action-databases.js';
import type { Actions } from '../operator/actions.js';
import type { LedgerPlace } from './idempotency.js';
import type { LedgerRow } from './ledger-row.js';

/**
 * The result that an execution has left; one over several shards is completed first.
 *
 * @throws ShardingError `idempotency_mismatch` for other parameters; `action_refused` where it was undone, or given up; PartialCommit
 */
export async function storedResult(
  { actionId, home, paramsHash }: LedgerPlace,
  action: string,
  { databases, actions }: { readonly databases: ActionDatabases; readonly actions: Actions },
): Promise<LedgerRow['result'] | undefined> {
  const row = await readLedger(await home.primary(), actionId);
  if (!row) return undefined;
  assertNotGivenUp(row);
  if (row.paramsHash !== paramsHash) {
    throw new ShardingError(
      'idempotency_mismatch',
      `action ${action} was executed under this idempotency key with other parameters: use a new key for another execution`,
    );
  }
  if (row.runParts > 1 && (await databases.journal.find(row.runId))) await actions.retry(row.runId);
  return row.result;
}
