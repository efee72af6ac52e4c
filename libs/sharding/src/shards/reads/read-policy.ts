import type { ReplicaFallback } from '../../shard.options.js';

/** Where a read goes. */
export type ReadTarget = 'primary' | 'replica' | 'unavailable';

/** What is known of the replica of one place; `none` where none is configured. */
export type ReplicaReadiness = 'none' | 'ready' | 'unready';

/** The table of the read policy. */
export function readTarget(replica: ReplicaReadiness, fallback: ReplicaFallback): ReadTarget {
  if (replica === 'none') return 'primary';
  if (replica === 'ready') return 'replica';
  return fallback === 'primary' ? 'primary' : 'unavailable';
}

/** The same for a read that only a replica may serve. */
export function replicaOnlyTarget(replica: ReplicaReadiness): Exclude<ReadTarget, 'primary'> {
  return replica === 'ready' ? 'replica' : 'unavailable';
}
