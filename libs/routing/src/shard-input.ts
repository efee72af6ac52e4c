import type { SlotSpec } from './slot-ranges.js';

/** A shard as the user declares it, as far as routing is concerned. */
export interface ShardInput {
  /** `[a-z0-9_-]+`, unique. */
  readonly name: string;
  /** The slots it owns within its group; `[]` = drained. Either every shard of a group declares them or none does. */
  readonly slots?: readonly SlotSpec[] | undefined;
  /** 0..255, default 0. */
  readonly group?: number | undefined;
  /**
   * 0..63, unique within the group. Shards that give none take the lowest free numbers in declaration order while the
   * group has at most 64 shards; in a larger group they have no number and cannot be named by an embedded id.
   */
  readonly member?: number | undefined;
}
