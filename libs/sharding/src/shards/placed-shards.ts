import { routeKey, shardOfPlace, ShardingError } from '@app/routing';
import { chain } from './maybe-promise.js';
import type {
  Place,
  PlaceOptions,
  RoutingRules,
  ShardRouter,
  SlotPlace,
  Topology,
  TopologyShard,
} from '@app/routing';
import type { MaybePromise } from './maybe-promise.js';

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
export function placedShards(place: Place, asked: Asked): MaybePromise<TopologyShard[]> {
  const { router, rules, options } = asked;
  const { topology } = rules;
  const shard = shardOfPlace(topology, place, options);
  if (!isSlot(place)) return [shard];
  if (place.key !== undefined) {
    return chain(routeKey(router, place.key, rules), (routed) => [inGroup(routed, place)]);
  }
  const others = router.shardsOfSlot?.(place.slot, topology, place.group) ?? [];
  return chain(others, (sent) => [
    ...new Set([shard, ...sent.map((one) => inGroup(known(one, topology), place))]),
  ]);
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
