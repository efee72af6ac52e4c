import type { KeyKind } from '../move-request.js';
import type { MoveCall, MoveFleet } from '../mover.js';
import type { RepairMode } from './repair-options.js';

/** One repair while it runs. */
export interface RepairRun {
  readonly fleet: MoveFleet;
  readonly call: MoveCall;
  readonly mode: RepairMode;
  readonly by: string;
  readonly keyColumn: string;
  readonly keyKind: KeyKind;
}
