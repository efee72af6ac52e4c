import type { Topology } from '@app/routing';

/** One shard of one version of the slot map, as `_sharding_map` remembers it. */
export interface MappedShard {
  readonly name: string;
  readonly group: number;
  /** Null in a group of more than 64 shards. */
  readonly member: number | null;
  /** In compact form, `"0-8191, 9000"`; `""` when it is drained. */
  readonly slots: string;
  /** Whether its slots follow from the number and order of the shards of its group. */
  readonly autoSplit: boolean;
}

/** A version of the slot map on the control database. */
export interface MapVersion {
  readonly version: number;
  readonly shards: readonly MappedShard[];
  /** Seconds since 1970. */
  readonly recordedAt: number;
}

/** Whole slots whose rows were copied and verified. */
export interface VerifiedMove {
  readonly group: number;
  readonly source: string;
  readonly destination: string;
  readonly slots: string;
  /** Seconds since 1970. */
  readonly verifiedAt: number;
}

/** The shards of a topology, in declaration order. */
export function mappedShards(topology: Topology): MappedShard[] {
  return topology.shards.map(({ name, group, identifier }) => ({
    name,
    group,
    member: identifier?.member ?? null,
    slots: topology.rangesOfShard(name),
    autoSplit: topology.isAutoSplit(group),
  }));
}
