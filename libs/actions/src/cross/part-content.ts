import type { EventKey } from '../outbox/event-key.js';
import type { OutboxEvent } from '../outbox/outbox-event.js';
import type { LedgerRow } from '../ledger/ledger-row.js';
import type { RowOperation } from '../rows/row-operation.js';
import type { UndoRow } from '../undo/undo-row.js';

/**
 * What one shard is to write: plain data, as it is stored in `_sharding_action_parts`. Its key is what its rows are routed by,
 * where that is one.
 */
export interface PartContent extends EventKey {
  readonly rows: readonly RowOperation[];
  readonly events: readonly OutboxEvent[];
  /** The result of the action, where this is its home. */
  readonly ledger?: LedgerRow | undefined;
}

/** What puts a part back. */
export interface PartUndo extends EventKey {
  readonly rows: readonly UndoRow[];
}

export const PART_STATES = ['pending', 'applied', 'cancelled', 'compensated'] as const;
export type PartState = (typeof PART_STATES)[number];

/** One part of a stored action. */
export interface PartName {
  readonly actionId: string;
  /** 0 is the first that is applied. */
  readonly part: number;
}
