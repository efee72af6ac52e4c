import { routeKey, shardOfPlace, ShardingError } from '@app/routing';
import { chain } from './maybe-promise.js';
import type {
  Place,
  PlaceOptions,
  RoutingRules,
  ShardRouter,
  SlotPlace,
  SlotShard,
  Topology,
  TopologyShard,
} from '@app/routing';
import type { MaybePromise } from './maybe-promise.js';
import type { Shard } from './shard.js';

/** The shards where the rows of a place may be, the likeliest first. */
export interface PlacedShards extends ReadonlyArray<Shard> {
  /** Why they may also be where nobody can look: a row that is on none of these is not one that does not exist. */
  readonly missing?: ShardingError;
}

/** The same by the topology. */
export interface PlacedAmong {
  readonly shards: readonly TopologyShard[];
  readonly missing?: ShardingError | undefined;
}

/** Who is asked where a place is. */
interface Asked {
  readonly router: ShardRouter;
  readonly rules: RoutingRules;
  readonly options: PlaceOptions | undefined;
}

/**
 * The shards where the rows of a place may be, the likeliest first.
 *
 * @throws ShardingError `unregistered_shard`, `residency_violation`, `out_of_topology` for a router that names no shard
 */
export function placedShards(place: Place, asked: Asked): MaybePromise<PlacedAmong> {
  const { router, rules, options } = asked;
  const { topology } = rules;
  const shard = shardOfPlace(topology, place, options);
  if (!isSlot(place)) return { shards: [shard] };
  if (place.key !== undefined) {
    return chain(routeKey(router, place.key, rules), (routed) => ({ shards: [inGroup(routed, place)] }));
  }
  const others = router.shardsOfSlot?.(place.slot, topology, place.group) ?? [];
  return chain(others, (sent) => {
    const also = sent.filter(isShard).map((one) => inGroup(known(one, topology), place));
    return { shards: [...new Set([shard, ...also])], missing: sent.find(isError) };
  });
}

function isError(one: SlotShard): one is ShardingError {
  return one instanceof ShardingError;
}

function isShard(one: SlotShard): one is TopologyShard {
  return !isError(one);
}

function isSlot(place: Place): place is SlotPlace {
  return 'slot' in place;
}

/** The shard of this topology that a router means. */
function known({ name }: TopologyShard, topology: Topology): TopologyShard {
  if (topology.has(name)) return topology.byName(name);
  throw new ShardingError(
    'out_of_topology',
    `the router sends keys of a slot to a shard that is not configured`,
  );
}

function inGroup(shard: TopologyShard, { group }: SlotPlace): TopologyShard {
  if (shard.group === group) return shard;
  throw new ShardingError(
    'residency_violation',
    `shard "${shard.name}" is in group ${shard.group}, and the place is in group ${group}: let the strategy name the group that groupOf, or the directory, gives the key`,
  );
}
