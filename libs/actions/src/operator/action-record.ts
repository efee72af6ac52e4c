import type { JournalState } from '../cross/journal.js';
import type { PartState } from '../cross/part-content.js';

/** One shard of an action over several. */
export interface PartRecord {
  readonly part: number;
  readonly shard: string;
  /** As the shard says now; `missing`: it was not stored there; `unreachable`: the shard does not answer. */
  readonly state: PartState | 'missing' | 'unreachable';
}

/** An action over several shards: ids and states, no content. */
export interface ActionRecord {
  readonly id: string;
  readonly action: string;
  readonly state: JournalState;
  /** Code of what has stopped it last. */
  readonly failure: string | undefined;
  readonly startedAt: Date;
  readonly changedAt: Date;
  readonly parts: readonly PartRecord[];
}
