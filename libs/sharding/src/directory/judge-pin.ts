import { ShardingError, type Topology, type TopologyShard } from '@app/routing';
import type { Pin } from './pin.js';

/** Why a row of the directory cannot be obeyed: the key of an unknown shard or group is refused, of the rest the row is ignored. */
export type PinProblem = 'unknown_shard' | 'unknown_group' | 'outside_group';

/** What the row of a key comes to. */
export interface PinVerdict {
  /** The group that the key belongs to. */
  readonly group: number;
  /** Where the row puts the key; undefined where it names no shard, or is not obeyed. */
  readonly shard: TopologyShard | undefined;
  readonly problem: PinProblem | undefined;
}

/** Judges the row of a key. @param stated the group that `groupOf`, or the caller, says; it counts more than the row's */
export function judgePin(pin: Pin, stated: number | undefined, topology: Topology): PinVerdict {
  const group = stated ?? pin.group ?? 0;
  if (pin.group !== undefined) {
    if (pin.group !== group) return { group, shard: undefined, problem: 'outside_group' };
    if (!topology.hasGroup(group)) return { group, shard: undefined, problem: 'unknown_group' };
  }
  if (pin.shard === undefined) return { group, shard: undefined, problem: undefined };
  if (!topology.has(pin.shard)) return { group, shard: undefined, problem: 'unknown_shard' };
  const shard = topology.byName(pin.shard);
  if (shard.group !== group) return { group, shard: undefined, problem: 'outside_group' };
  return { group, shard, problem: undefined };
}

/** The refusal of a key whose row names an unknown shard or group. */
export function refusedPin(
  key: string,
  { shard, group }: Pin,
  { problem }: PinVerdict,
): ShardingError | undefined {
  if (problem !== 'unknown_shard' && problem !== 'unknown_group') return undefined;
  const named =
    problem === 'unknown_shard'
      ? `shard ${JSON.stringify(shard)}, which is not configured`
      : `group ${group}, which has no shards`;
  return new ShardingError(
    'invalid_pin',
    `the directory's row of routing key ${JSON.stringify(key)} names ${named}: correct the row`,
  );
}
