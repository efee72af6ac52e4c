import type { OutboxEvent } from '../outbox/outbox-event.js';
import type { LedgerRow } from '../ledger/ledger-row.js';
import type { RowOperation } from '../rows/row-operation.js';
import type { UndoRow } from '../undo/undo-row.js';

/** What one shard is to write: plain data, as it is stored in `_sharding_action_parts`. */
export interface PartContent {
  readonly rows: readonly RowOperation[];
  readonly events: readonly OutboxEvent[];
  /** The result of the action, where this is its home. */
  readonly ledger?: LedgerRow | undefined;
  /** What its rows are routed by, where that is one key. */
  readonly routingKey?: string | undefined;
}

/** What puts a part back. */
export interface PartUndo {
  readonly rows: readonly UndoRow[];
  readonly routingKey?: string | undefined;
}

export const PART_STATES = ['pending', 'applied', 'cancelled', 'compensated'] as const;
export type PartState = (typeof PART_STATES)[number];

/** One part of a stored action. */
export interface PartName {
  readonly actionId: string;
  /** 0 is the first that is applied. */
  readonly part: number;
}
