import type { Fingerprint, Seeds } from '../fingerprint.js';
import type { KeyKind, MoveReason, MoveScope, MoveWrites } from '../move-request.js';
import type { MovedTable } from '../tables/moved-table.js';

/** `switched` and `routed` are of moves that change the route themselves. */
export const MOVE_STATES = [
  'planned',
  'copied',
  'fenced',
  'verified',
  'switched',
  'routed',
  'purged',
  'aborted',
] as const;
export type MoveState = (typeof MOVE_STATES)[number];

/** What a move was asked for, beside whose rows and where to. */
export interface MoveTerms {
  readonly keyColumn: string;
  readonly keyKind: KeyKind;
  /** Where one was named. */
  readonly idColumn?: string;
  readonly writes: MoveWrites;
  readonly fenceMs: number;
  readonly throttle: number | null;
  /** Keys of the slots that pins led elsewhere, or kept at the source, when the move was planned. */
  readonly kept: readonly string[];
  /** Of a repair. */
  readonly reason?: MoveReason;
}

/** Content that was found equal on both sides. */
export interface MoveProof {
  readonly seeds: Seeds;
  /** In the order of the tables. */
  readonly tables: readonly (Fingerprint & { readonly table: string })[];
}

/** One step that was done; times as ISO 8601. */
export interface MoveStep {
  readonly state: MoveState;
  readonly at: string;
  readonly ms: number;
}

/** A row of `_sharding_moves`. */
export interface MoveRecord {
  readonly id: string;
  readonly state: MoveState;
  /** As text: a bigint. */
  readonly epoch: string;
  readonly source: string;
  readonly destination: string;
  readonly group: number;
  readonly scope: MoveScope;
  readonly terms: MoveTerms;
  /** Referred to before referring. */
  readonly tables: readonly MovedTable[];
  readonly proof: MoveProof | undefined;
  readonly steps: readonly MoveStep[];
  readonly startedBy: string;
  readonly startedAt: Date;
  readonly changedAt: Date;
  /** Until when its mover holds it; undefined: nobody does. */
  readonly leasedUntil: Date | undefined;
}

/** Whether nothing more will happen. */
export function hasEnded({ state }: Pick<MoveRecord, 'state'>): boolean {
  return state === 'purged' || state === 'aborted';
}
