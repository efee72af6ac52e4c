import { listNames, quote } from './quote.js';
import { assertRoutingKey, type RoutingKey } from './routing-key.js';
import { ShardingError } from './sharding-error.js';
import type { TopologyShard } from './topology-shard.js';
import type { Topology } from './topology.js';

/**
 * Decides which shard a key lives on. Extend it to pin a whale, to obey a policy, or to ask a directory; every router
 * must pass `router.contract.ts`.
 *
 * ```ts
 * class WhaleRouter extends ShardRouter {
 *   async route(key: RoutingKey, topology: Topology) {
 *     if (key === 'whale-corp') return topology.byName('whale');
 *     return topology.shardOfSlot(topology.slotOf(key));
 *   }
 * }
 * ```
 */
export abstract class ShardRouter {
  /**
   * The shard of a valid key. The answer must be a shard of the topology given.
   * May wait (a cache, a database), or answer at once without a promise; called for every routed piece of work, so it should be quick.
   */
  abstract route(key: RoutingKey, topology: Topology): TopologyShard | Promise<TopologyShard>;
}

/** The default: the owner of the key's slot in group 0. */
export class HashRouter extends ShardRouter {
  override route(key: RoutingKey, topology: Topology): TopologyShard | Promise<TopologyShard> {
    return topology.shardOf(key);
  }
}

/**
 * Asks a router, trusting neither side: the key is checked before, and the answer must name a shard of the topology
 * (one of an older topology with the same name will do). Always call routers through this.
 *
 * @returns at once where the router answers at once; `await` it either way
 * @throws ShardingError `invalid_routing_key`; `out_of_topology` for an answer that is no shard of the topology, also
 *   where the router asked the topology for it; what else the router throws passes through
 */
export function routeKey(
  router: ShardRouter,
  key: RoutingKey,
  topology: Topology,
): TopologyShard | Promise<TopologyShard> {
  assertRoutingKey(key);
  const failed = (error: unknown): never => {
    throw unknownToRouter(error) ? outOfTopology(router, error.message, error) : error;
  };
  let answer: TopologyShard | Promise<TopologyShard>;
  try {
    answer = router.route(key, topology);
  } catch (error) {
    return failed(error);
  }
  if (answer instanceof Promise) return answer.then((shard) => checked(shard, router, topology), failed);
  return checked(answer, router, topology);
}

/** A router that names a shard that is not there is a mistake of the server, not of the client. */
function unknownToRouter(error: unknown): error is ShardingError {
  return error instanceof ShardingError && error.code === 'unknown_shard';
}

function outOfTopology(router: ShardRouter, said: string, cause?: unknown): ShardingError {
  return new ShardingError('out_of_topology', `${router.constructor.name} answered with ${said}`, { cause });
}

function checked(answer: TopologyShard, router: ShardRouter, topology: Topology): TopologyShard {
  const name = (answer as Partial<TopologyShard> | undefined)?.name;
  if (name !== undefined && topology.has(name)) return topology.byName(name);
  const known = topology.shards.map((shard) => shard.name);
  const said = name === undefined ? 'no shard' : `shard ${quote(name)}`;
  throw outOfTopology(router, `${said}; known shards: ${listNames(known)}`);
}
