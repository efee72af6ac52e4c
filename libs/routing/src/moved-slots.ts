import { SLOT_COUNT } from './slot.js';
import type { Topology } from './topology.js';

/** A slot whose owner differs between two topologies. */
export interface MovedSlot {
  readonly group: number;
  readonly slot: number;
  /** The names of the shards. */
  readonly from: string;
  readonly to: string;
}

/**
 * The slots that have another owner (by name) afterwards, ordered by group and slot. A group that only one of the two
 * topologies has moves nothing: its slots have no owner to compare with.
 */
export function movedSlots(before: Topology, after: Topology): MovedSlot[] {
  const moved: MovedSlot[] = [];
  for (const group of before.groups) {
    if (!after.groups.includes(group)) continue;
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const from = before.shardOfSlot(slot, group).name;
      const to = after.shardOfSlot(slot, group).name;
      if (from !== to) moved.push({ group, slot, from, to });
    }
  }
  return moved;
}
