import type { ShardDb } from '@app/sharding';
import type { LedgerRow } from './ledger-row.js';

/** The results of actions are one row each; further parts are told by the journal. */
const PART = 0;

interface StoredRow {
  readonly action: string;
  readonly routing_key: string | null;
  readonly params_hash: string;
  readonly run_id: string;
  readonly run_parts: number;
  readonly result: LedgerRow['result'];
}

export async function readLedger(db: ShardDb, actionId: string): Promise<LedgerRow | undefined> {
  const [row] = await db.query<StoredRow[]>(
    `select action, routing_key, params_hash, run_id, run_parts, result
    from _sharding_action_ledger where action_id = $1 and part = $2`,
    [actionId, PART],
  );
  if (!row) return undefined;
  return {
    actionId,
    action: row.action,
    routingKey: row.routing_key ?? undefined,
    paramsHash: row.params_hash,
    runId: row.run_id,
    runParts: row.run_parts,
    result: row.result,
  };
}

/** Waits for a concurrent one. @returns false where it is there already */
export async function writeLedger(tx: ShardDb, row: LedgerRow): Promise<boolean> {
  const written = await tx.query(
    `insert into _sharding_action_ledger
      (action_id, part, action, routing_key, params_hash, run_id, run_parts, result)
    values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (action_id, part) do nothing returning 1`,
    [
      row.actionId,
      PART,
      row.action,
      row.routingKey ?? null,
      row.paramsHash,
      row.runId,
      row.runParts,
      JSON.stringify(row.result),
    ],
  );
  return written.length === 1;
}

/** @returns how many were deleted, up to `limit` */
export async function deleteOldLedger(db: ShardDb, days: number, limit: number): Promise<number> {
  const [, deleted] = await db.query<[unknown, number]>(
    `delete from _sharding_action_ledger where ctid in (
      select ctid from _sharding_action_ledger where applied_at < now() - $1 * interval '1 day' and not _sharding_rows_move()
      limit $2 for update skip locked)`,
    [days, limit],
  );
  return deleted;
}
