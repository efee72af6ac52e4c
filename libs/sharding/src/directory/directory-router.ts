import { Inject, Injectable, Optional } from '@nestjs/common';
import { hashOfString, HashRouter, ShardingError, ShardRouter, slotOfHash } from '@app/routing';
import { chain } from '../shards/maybe-promise.js';
import { DirectoryConnection } from './directory-connection.js';
import { judgePin, refusedPin } from './judge-pin.js';
import { assertShort, MAX_KEY_BYTES } from './pin-key.js';
import type { RoutingKey, SlotShard, Topology, TopologyShard } from '@app/routing';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { DirectoryOptions } from './directory-connection.js';
import type { Directory } from './directory.js';
import { SharedPin, type Pin } from './pin.js';

/** What a `DirectoryRouter` may be told. */
export interface DirectoryRouterOptions extends DirectoryOptions {
  /** Routes the keys without a pin. Default: the slot map. */
  readonly fallback?: ShardRouter;
}

/** No UTF-16 unit has more than three bytes in UTF-8. */
const SURELY_SHORT = MAX_KEY_BYTES / 3;

/**
 * Routes by the pins of the control table `_sharding_directory`, and keys without one by another router. Only strings are
 * looked for there. It owns its connection and its cache; both start and end with the application.
 *
 * A pin outside the group of its key is ignored, and the log says so; one that names an unknown shard, or a group without
 * shards, fails its own key.
 */
@Injectable()
export class DirectoryRouter extends ShardRouter {
  override readonly groups = 'own';
  readonly #directory: Directory;
  readonly #fallback: ShardRouter;
  /** Then the hash of the key serves the pins and the slot. */
  readonly #byHash: boolean;

  /** @throws ShardingError `invalid_topology` without a control database with a pool of at least 2 */
  constructor(
    @Inject(DirectoryConnection) connection: DirectoryConnection,
    @Optional() { fallback = new HashRouter(), ...options }: DirectoryRouterOptions = {},
  ) {
    super();
    this.#directory = connection.open(options).directory;
    this.#fallback = fallback;
    this.#byHash = fallback.constructor === HashRouter;
  }

  /**
   * @throws ShardingError `directory_unavailable`; `invalid_pin` for a row that names an unknown shard or group;
   *   `invalid_routing_key` beyond 255 bytes; `residency_violation` where the fallback leaves the key's group
   */
  override route(key: RoutingKey, topology: Topology, group?: number): MaybePromise<TopologyShard> {
    if (typeof key !== 'string') return this.#unpinned(key, topology, group);
    if (key.length > SURELY_SHORT) assertShort(key);
    const hash = hashOfString(key);
    const pin = this.#directory.find(key, hash);
    if (pin === undefined && this.#byHash) return topology.shardOfSlot(slotOfHash(hash), group ?? 0);
    if (pin === undefined) return this.#unpinned(key, topology, group);
    if (group === undefined && pin instanceof SharedPin) {
      const shard = pin.placeIn(topology);
      if (shard) return shard;
    }
    if (!(pin instanceof Promise)) return this.#obey(pin, key, { topology, group });
    return pin.then((found) => this.#obey(found, key, { topology, group }));
  }

  /** The shards that keys of the slot are pinned to, inside the group, and those that the fallback sends them to. */
  override shardsOfSlot(slot: number, topology: Topology, group: number): MaybePromise<SlotShard[]> {
    return chain(this.#directory.shardsOfSlot(slot), (names) =>
      chain(this.#fallback.shardsOfSlot?.(slot, topology, group) ?? [], (sent) => {
        const pinned = names.map((name) => (topology.has(name) ? topology.byName(name) : lostIn(slot, name)));
        return [
          ...pinned.filter((shard) => shard instanceof ShardingError || shard.group === group),
          ...sent,
        ];
      }),
    );
  }

  #obey(
    pin: Pin | undefined,
    key: string,
    { topology, group }: { topology: Topology; group: number | undefined },
  ): MaybePromise<TopologyShard> {
    if (!pin) return this.#unpinned(key, topology, group);
    const verdict = judgePin(pin, group, topology);
    if (verdict.shard) {
      if (group === undefined && pin instanceof SharedPin) pin.settle(topology, verdict.shard);
      return verdict.shard;
    }
    const refusal = refusedPin(key, pin, verdict);
    if (refusal) throw refusal;
    return this.#unpinned(key, topology, verdict.group);
  }

  #unpinned(key: RoutingKey, topology: Topology, group: number | undefined): MaybePromise<TopologyShard> {
    const allowed = this.#fallback.groups === 'own' ? group : (group ?? 0);
    return chain(this.#fallback.route(key, topology, group), (shard?: TopologyShard) => {
      if (shard && (allowed === undefined || shard.group === allowed)) return shard;
      if (!shard || !topology.has(shard.name)) throw noShard(this.#fallback);
      throw new ShardingError(
        'residency_violation',
        `shard "${shard.name}" is in group ${shard.group}, and the key belongs to group ${allowed}`,
      );
    });
  }
}

function noShard({ constructor: { name } }: ShardRouter): ShardingError {
  return new ShardingError('out_of_topology', `${name}, which the directory asks, answered with no shard`);
}

/** What stands for an unknown shard among those where a row of the slot may be. */
function lostIn(slot: number, name: string): ShardingError {
  return new ShardingError(
    'invalid_pin',
    `the row may be on shard ${JSON.stringify(name)}, which the directory names for a key of slot ${slot} and which is not configured: correct the row of the key`,
  );
}
