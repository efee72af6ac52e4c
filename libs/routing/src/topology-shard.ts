import type { ShardIdentifier } from './shard-identifier.js';

/** What routing knows of a shard: no URL, no connection. */
export interface TopologyShard {
  readonly name: string;
  /** Its place in the declaration, from 0. */
  readonly index: number;
  /** Where its data is allowed to live; 0 unless configured. */
  readonly group: number;
  /** (group, member); absent for the shards of a group of more than 64 that give no member. */
  readonly identifier?: ShardIdentifier;
  /** How many slots of its group it owns; 0 = drained. */
  readonly slotCount: number;
}
