import { groupOfKey, type GroupOf } from './group-of.js';
import { listNames, quote } from './quote.js';
import { assertRoutingKey, type RoutingKey } from './routing-key.js';
import { ShardingError } from './sharding-error.js';
import type { TopologyShard } from './topology-shard.js';
import type { Topology } from './topology.js';

/**
 * Who knows the group of a key: the options alone (`groupOf`; a key of which they say nothing is in group 0), or the
 * router as well, for the keys of which the options say nothing.
 */
export type RouterGroups = 'options' | 'own';

/**
 * Decides which shard a key lives on. Extend it to pin a whale, to obey a policy, or to ask a directory; every router
 * must pass `router.contract.ts`.
 *
 * ```ts
 * class WhaleRouter extends ShardRouter {
 *   async route(key: RoutingKey, topology: Topology, group?: number) {
 *     if (key === 'whale-corp') return topology.byName('whale');
 *     return topology.shardOf(key, group);
 *   }
 * }
 * ```
 */
export abstract class ShardRouter {
  /** `'options'` unless the router says otherwise. */
  declare readonly groups?: RouterGroups;

  /**
   * The shard of a valid key. The answer must be a shard of the topology given, inside the group given.
   * May wait (a cache, a database), or answer at once without a promise; called for every routed piece of work, so it should be quick.
   *
   * @param group the group of the key where the options name one, which has shards; `undefined` where they do not:
   *   the answer must then be in group 0, unless the router's `groups` is `'own'`
   */
  abstract route(key: RoutingKey, topology: Topology, group?: number): TopologyShard | Promise<TopologyShard>;

  /**
   * The shards to which keys of a slot are sent beside the owner of the slot: where an id names its slot and nobody knows
   * the key, those are asked too. A router that follows the slot map alone needs none. An error among them stands for a
   * shard that cannot be asked: it is thrown where the row is on none of the others.
   */
  shardsOfSlot?(
    slot: number,
    topology: Topology,
    group: number,
  ): readonly SlotShard[] | Promise<readonly SlotShard[]>;
}

/** A shard that keys of a slot are sent to, or why nobody can say which. */
export type SlotShard = TopologyShard | ShardingError;

/** The default: the owner of the key's slot in its group, or in group 0. */
export class HashRouter extends ShardRouter {
  override route(
    key: RoutingKey,
    topology: Topology,
    group?: number,
  ): TopologyShard | Promise<TopologyShard> {
    return topology.shardOf(key, group ?? 0);
  }
}

/** What keys are routed by, together with the router. */
export interface RoutingRules {
  readonly topology: Topology;
  /** The group of each key; group 0 for all where it is absent. */
  readonly groupOf?: GroupOf | undefined;
}

/** One question to a router. */
interface Asked {
  readonly router: ShardRouter;
  readonly topology: Topology;
  readonly group: number | undefined;
}

/**
 * Asks a router, trusting neither side: the key is checked before, and the answer must name a shard of the topology
 * (one of an older topology with the same name will do) that is in the key's group. Always call routers through this.
 *
 * @param rules the topology, with `groupOf` where keys have groups
 * @returns at once where the router answers at once; `await` it either way
 * @throws ShardingError `invalid_routing_key`; `residency_violation` for a shard outside the key's group;
 *   `out_of_topology` for an answer that is no shard of the topology, also where the router asked the topology for it,
 *   and where `groupOf` does not name a group that has shards; what else the router throws passes through
 */
export function routeKey(
  router: ShardRouter,
  key: RoutingKey,
  rules: Topology | RoutingRules,
): TopologyShard | Promise<TopologyShard> {
  assertRoutingKey(key);
  const { topology, groupOf }: RoutingRules = 'topology' in rules ? rules : { topology: rules };
  const group = groupOf === undefined ? undefined : groupOfKey(groupOf, key, topology);
  const asked: Asked = { router, topology, group };
  let answer: TopologyShard | Promise<TopologyShard>;
  try {
    answer = router.route(key, topology, group);
  } catch (error) {
    throw failure(asked, error);
  }
  return answer instanceof Promise ? checkedLater(asked, answer) : checked(asked, answer);
}

async function checkedLater(asked: Asked, answer: Promise<TopologyShard>): Promise<TopologyShard> {
  let shard: TopologyShard;
  try {
    shard = await answer;
  } catch (error) {
    throw failure(asked, error);
  }
  return checked(asked, shard);
}

/** A router that names a shard that is not there is a mistake of the server, not of the client. */
function failure({ router }: Asked, error: unknown): unknown {
  const unknownToRouter = error instanceof ShardingError && error.code === 'unknown_shard';
  return unknownToRouter ? outOfTopology(router, error.message, error) : error;
}

function outOfTopology(router: ShardRouter, said: string, cause?: unknown): ShardingError {
  return new ShardingError('out_of_topology', `${router.constructor.name} answered with ${said}`, { cause });
}

function checked(asked: Asked, answer: TopologyShard): TopologyShard {
  const shard = ownShard(asked, answer);
  const allowed = asked.group ?? (asked.router.groups === 'own' ? shard.group : 0);
  if (shard.group !== allowed) throw outsideGroup(asked, shard);
  return shard;
}

/** The shard of the topology that the answer is, or that has its name. */
function ownShard(
  { router, topology }: Asked,
  answer: Partial<TopologyShard> | null | undefined,
): TopologyShard {
  const shard = topology.shards[answer?.index ?? -1];
  if (shard !== undefined && shard === answer) return shard;
  const name = answer?.name;
  if (name !== undefined && topology.has(name)) return topology.byName(name);
  const known = topology.shards.map((one) => one.name);
  const said = name === undefined ? 'no shard' : `shard ${quote(name)}`;
  throw outOfTopology(router, `${said}; known shards: ${listNames(known)}`);
}

function outsideGroup({ router, group }: Asked, shard: TopologyShard): ShardingError {
  const answered = `${router.constructor.name} answered with shard "${shard.name}" of group ${shard.group}`;
  const remedy =
    group === undefined
      ? 'for a key that no groupOf puts into a group, which is group 0; name its group in groupOf'
      : `for a key of group ${group}; the data may live only there: answer with a shard of the group the router is given`;
  return new ShardingError('residency_violation', `${answered} ${remedy}`);
}
