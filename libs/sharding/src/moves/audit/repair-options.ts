import type { AuditFinding } from './audit-finding.js';
import type { AuditReport } from './audit-request.js';
import type { MoveCall } from '../mover.js';

/** Whether anything is changed. */
export const REPAIR_MODES = ['dry-run', 'apply'] as const;
export type RepairMode = (typeof REPAIR_MODES)[number];

export interface RepairOptions extends Partial<MoveCall> {
  readonly mode: RepairMode;
  /** Who, for the record of the moves. */
  readonly by: string;
  /** After each step. */
  readonly stepped?: (step: RepairStep) => void;
}

/** What became of one task. */
export interface RepairStep {
  /** Ends a repair that was interrupted; moves rows home; deletes rows that are at home too; removes leftovers; lets pinned
   * keys write whose slot had left; for a human. */
  readonly what: 'finish' | 'move' | 'delete-duplicate' | 'clean' | 'admit' | 'look';
  /** `refused`: tried, or checked beforehand, and left as it was. `left`: for a human, nothing was tried. */
  readonly outcome: 'planned' | 'done' | 'refused' | 'left';
  readonly shard: string;
  readonly to?: string;
  readonly key?: string;
  /** The id of the move that did it. */
  readonly move?: string;
  /** With `look`. */
  readonly finding?: AuditFinding;
  readonly message: string;
}

export interface RepairReport {
  readonly mode: RepairMode;
  /** What the steps are about. */
  readonly audit: AuditReport;
  readonly steps: readonly RepairStep[];
  /** All was done that could be, and there is nothing that a human has to look at. */
  readonly healed: boolean;
}
