import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { retryDelay } from '../executor/retry-policy.js';
import { writeLedger } from '../ledger/ledger-statements.js';
import { writeRows } from '../rows/write-rows.js';
import { lockPart, markApplied } from './part-statements.js';
import type { ShardDb } from '@app/sharding';
import type { RetryPolicy } from '../executor/retry-policy.js';
import type { UndoRow } from '../undo/undo-row.js';
import type { WrittenRow } from '../rows/write-rows.js';
import type { PartContent, PartName } from './part-content.js';

/** The same execution was committed by another attempt: its result is in the ledger. */
export class AlreadyApplied extends Error {
  override readonly name = 'AlreadyApplied';
}

/** How parts are applied. */
export interface ApplyLimits {
  readonly retry: Required<RetryPolicy>;
  readonly transactionTimeoutMs: number;
}

/**
 * Writes a stored part in one transaction, once: whoever comes second waits for the first and finds it applied. A commit
 * whose answer was lost is looked at so, and what fails for a passing reason is tried again.
 *
 * @returns what the database has set; undefined where it was applied before
 * @throws AlreadyApplied; ShardingError `action_refused` for a part that is not to be applied any more, and what writes throw
 */
export async function applyPart(
  open: () => Promise<ShardDb>,
  name: PartName,
  { limits, isPassing }: { readonly limits: ApplyLimits; isPassing(error: unknown): boolean },
): Promise<WrittenRow[] | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      const db = await open();
      return await db.tx((tx) => applyIn(tx, name), { timeoutMs: limits.transactionTimeoutMs });
    } catch (error) {
      if (attempt >= limits.retry.attempts || !isPassing(error)) throw error;
      await pause(retryDelay(limits.retry, attempt));
    }
  }
}

async function applyIn(tx: ShardDb, name: PartName): Promise<WrittenRow[] | undefined> {
  const stored = await lockPart(tx, name);
  if (stored?.state === 'applied') return undefined;
  if (stored?.state !== 'pending') throw notToBeApplied(tx, stored?.state ?? 'gone');
  const undo: UndoRow[] = [];
  const written = await writeContent(tx, stored.content, undo);
  const { routingKey, keyKind } = stored.content;
  await markApplied(tx, name, { rows: undo, routingKey, keyKind });
  return written;
}

/** Writes the ledger, the rows and the events of one shard. @throws AlreadyApplied */
export async function writeContent(
  tx: ShardDb,
  { ledger, rows, events }: PartContent,
  undo?: UndoRow[],
): Promise<WrittenRow[]> {
  if (ledger && !(await writeLedger(tx, ledger))) throw new AlreadyApplied();
  return writeRows(tx, rows, { events, undo });
}

function notToBeApplied({ shard }: ShardDb, state: string): ShardingError {
  return new ShardingError(
    'action_refused',
    `the part of shard "${shard.name}" is ${state}: somebody has cancelled the action, or is undoing it`,
  );
}
