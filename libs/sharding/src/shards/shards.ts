import { ShardingError, routeKey } from '@app/routing';
import { fanOut } from './fan-out.js';
import { chain } from './maybe-promise.js';
import { ShardDb } from './shard-db.js';
import { apartFromEnded } from './transaction.js';
import { within } from './work-scope.js';
import type { RoutingKey, ShardRouter, Topology } from '@app/routing';
import type { ShardOutcome } from './fan-out.js';
import type { MaybePromise } from './maybe-promise.js';
import type { Shard, ShardDbType } from './shard.js';

/** Where the routing key of the running work comes from; implemented by the routing context. */
export interface RoutingKeySource {
  /** @throws ShardingError `no_routing_key` and what the tenant source throws */
  routingKey(request?: object): MaybePromise<RoutingKey>;
  runFor<T>(key: RoutingKey, work: () => Promise<T>): Promise<T>;
}

/** How a fan-out runs. */
export interface EachOptions {
  /** Shards at a time. Default 8. */
  readonly width?: number;
  /** Bound for each shard, from its start. Default 30000. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_WIDTH = 8;
const DEFAULT_EACH_DEADLINE_MS = 30_000;

/**
 * All shards of the deployment. A singleton: inject it anywhere, also where there is no request; it routes at each
 * call. There are no cross-shard transactions, so each unit of work touches one shard.
 */
export class Shards {
  readonly topology: Topology;
  readonly #byName: ReadonlyMap<string, Shard>;
  readonly #shards: readonly Shard[];
  readonly #router: ShardRouter;
  readonly #keys: RoutingKeySource;

  constructor(parts: {
    topology: Topology;
    shards: readonly Shard[];
    router: ShardRouter;
    keys: RoutingKeySource;
  }) {
    this.topology = parts.topology;
    this.#shards = parts.shards;
    this.#byName = new Map(parts.shards.map((shard) => [shard.name, shard]));
    this.#router = parts.router;
    this.#keys = parts.keys;
  }

  /** Every shard in declaration order. */
  all(): readonly Shard[] {
    return this.#shards;
  }

  /** The slot of a key, 0 to 16383. @throws ShardingError `invalid_routing_key` */
  slotOf(key: RoutingKey): number {
    return this.topology.slotOf(key);
  }

  /** The shard that owns a key now. @throws ShardingError `invalid_routing_key`, `out_of_topology` */
  async shardFor(key: RoutingKey): Promise<Shard> {
    return this.route(key);
  }

  /** The primary of the shard that owns a key. @throws ShardingError `shard_unavailable` and those of {@link shardFor} */
  async dbFor(key: RoutingKey): Promise<ShardDb> {
    return chain(this.route(key), (shard) => shard.primaryAs(ShardDb));
  }

  /** The primary of a shard by name, for administration. @throws ShardingError `unknown_shard` */
  async dbOn(name: string): Promise<ShardDb> {
    return this.named(name).primary();
  }

  /**
   * The primary of the shard that the running work belongs to: the request's key, or that of {@link runFor}.
   *
   * @param request recovers the routing context where a library lost it, for example in a guard
   * @throws ShardingError `no_routing_key`
   */
  async current(request?: object): Promise<ShardDb> {
    return this.currentAs(ShardDb, request);
  }

  /** {@link current} as a subclass of {@link ShardDb}, at once where nothing needs to be waited for. */
  currentAs<D extends ShardDb>(type: ShardDbType<D>, request?: object): MaybePromise<D> {
    return chain(this.#keys.routingKey(request), (key) =>
      chain(this.route(key), (shard) => shard.primaryAs(type)),
    );
  }

  /** Runs `work` inside the routing context of `key`: for jobs, cron and scripts. */
  runFor<T>(key: RoutingKey, work: (db: ShardDb) => Promise<T>): Promise<T> {
    return apartFromEnded(() => this.#keys.runFor(key, async () => work(await this.dbFor(key))));
  }

  /**
   * Runs `work` on the primary of every shard: bounded, in declaration order, never stopped by a failure. A shard that
   * cannot be reached is an outcome of its own, and `work` is not called for it. At the deadline its statements are
   * cancelled on the server. Read while writers are active, an aggregate over shards is approximate.
   */
  async each<T>(
    work: (db: ShardDb) => Promise<T> | T,
    options: EachOptions = {},
  ): Promise<ShardOutcome<Shard, T>[]> {
    const { width = DEFAULT_WIDTH, deadlineMs = DEFAULT_EACH_DEADLINE_MS, signal } = options;
    if (!Number.isInteger(width) || width < 1) {
      throw new ShardingError('invalid_options', 'width is a whole number of at least 1');
    }
    return fanOut(this.#shards, width, (shard) =>
      within(`the work on shard "${shard.name}"`, { deadlineMs, signal }, async () =>
        work(await shard.primary()),
      ),
    );
  }

  /** A shard by name. @throws ShardingError `unknown_shard` */
  named(name: string): Shard {
    const shard = this.#byName.get(name) ?? this.#byName.get(this.topology.byName(name).name);
    if (!shard) throw new ShardingError('unknown_shard', `shard "${name}" has no database`);
    return shard;
  }

  /** {@link shardFor}, at once where nothing needs to be waited for. */
  route(key: RoutingKey): MaybePromise<Shard> {
    return chain(routeKey(this.#router, key, this.topology), ({ name }) => this.named(name));
  }
}
