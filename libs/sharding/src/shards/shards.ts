import { ShardingError, routeKey } from '@app/routing';
import { fanOut } from './fan-out.js';
import { chain } from './maybe-promise.js';
import { beginWholeRead } from './moving-reads.js';
import { NO_MOVES } from './open-move.js';
import { ShardDb } from './shard-db.js';
import { placedShards } from './placed-shards.js';
import { apartFromEnded } from './transaction.js';
import { within } from './work-scope.js';
import type {
  GroupOf,
  Place,
  PlaceOptions,
  RoutingKey,
  RoutingRules,
  ShardRouter,
  Topology,
} from '@app/routing';
import type { ShardOutcome } from './fan-out.js';
import type { MaybePromise } from './maybe-promise.js';
import type { HoldMoves, WholeRead } from './moving-reads.js';
import type { PlacedShards } from './placed-shards.js';
import type { Reader } from './reads/reader.js';
import type { ReadMode } from './reads/reads.js';
import type { Shard, ShardDbType } from './shard.js';

/** Where the routing key of the running work comes from; implemented by the routing context. */
export interface RoutingKeySource {
  /** @throws ShardingError `no_routing_key` and what the tenant source throws */
  routingKey(request?: object): MaybePromise<RoutingKey>;
  /** The running work, or `request`, uses this shard. */
  routed?(shard: string, request?: object): void;
  runFor<T>(key: RoutingKey, work: () => Promise<T>, options?: RunForOptions): Promise<T>;
}

/** What `runFor` accepts. */
export interface RunForOptions {
  /**
   * A token of `RoutingContext.sessionToken()`: with `read_your_writes = "session"` the work then sees what the work that
   * made the token has written. One that is forged, foreign or too long is ignored.
   */
  readonly session?: string | undefined;
}

/** How a fan-out runs. */
export interface EachOptions {
  /** Shards at a time. Default 8. */
  readonly width?: number;
  /** Bound for each shard, from its start. Default 30000. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  /** The shards of this group only. */
  readonly group?: number;
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
  readonly #rules: RoutingRules;
  readonly #keys: RoutingKeySource;
  readonly #holdMoves: HoldMoves;

  constructor(parts: {
    topology: Topology;
    groupOf?: GroupOf | undefined;
    shards: readonly Shard[];
    router: ShardRouter;
    keys: RoutingKeySource;
    /** Default: nothing moves. */
    holdMoves?: HoldMoves;
  }) {
    this.topology = parts.topology;
    this.#shards = parts.shards;
    this.#byName = new Map(parts.shards.map((shard) => [shard.name, shard]));
    this.#router = parts.router;
    this.#rules = { topology: parts.topology, groupOf: parts.groupOf };
    this.#keys = parts.keys;
    this.#holdMoves = parts.holdMoves ?? (() => NO_MOVES);
  }

  /**
   * Every shard in declaration order, or those of a group.
   *
   * @throws ShardingError `out_of_topology` for a group without shards
   */
  all(group?: number): readonly Shard[] {
    if (group === undefined) return this.#shards;
    return this.topology.shardsOfGroup(group).map(({ name }) => this.named(name));
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

  /**
   * The reads of the shard that owns a key: from its replica while that is ready and has replayed what the running
   * context has written, else as `replica_fallback` says.
   *
   * @throws ShardingError `replica_unavailable` with the fallback `fail_readiness`, and those of {@link shardFor}
   */
  async readFor(key: RoutingKey): Promise<Reader> {
    return this.#reader(key, 'policy');
  }

  /**
   * The same from the replica alone, never from the primary.
   *
   * @throws ShardingError `replica_unavailable` without a replica that is ready
   */
  async readReplicaFor(key: RoutingKey): Promise<Reader> {
    return this.#reader(key, 'replica_only');
  }

  /** The primary of a shard by name, for administration. @throws ShardingError `unknown_shard` */
  async dbOn(name: string): Promise<ShardDb> {
    const shard = this.named(name);
    this.#keys.routed?.(shard.name);
    return shard.primary();
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

  /** The routing key of the running work, and the shard that owns it. @throws ShardingError `no_routing_key` */
  locate(request?: object): MaybePromise<{ readonly key: RoutingKey; readonly shard: Shard }> {
    return chain(this.#keys.routingKey(request), (key) =>
      chain(this.route(key, request), (shard) => ({ key, shard })),
    );
  }

  /** {@link current} as a subclass of {@link ShardDb}, at once where nothing needs to be waited for. */
  currentAs<D extends ShardDb>(type: ShardDbType<D>, request?: object): MaybePromise<D> {
    return chain(this.#keys.routingKey(request), (key) =>
      chain(this.route(key, request), (shard) => shard.primaryAs(type)),
    );
  }

  /**
   * Runs `work` inside the routing context of `key`: for jobs, cron and scripts. Inside of a request, or of another
   * `runFor`, both are one context of reads and writes: each sees what the other has written. Elsewhere it is a context of
   * its own, which also sees what was written outside of every context, and nothing of other requests and `runFor`s.
   */
  runFor<T>(key: RoutingKey, work: (db: ShardDb) => Promise<T>, options: RunForOptions = {}): Promise<T> {
    const routed = async () => work(await this.dbFor(key));
    return apartFromEnded(() => this.#keys.runFor(key, routed, options));
  }

  /**
   * Runs `work` on the primary of every shard: bounded, in declaration order, never stopped by a failure. A shard that
   * cannot be reached is an outcome of its own, and `work` is not called for it. At the deadline its statements are
   * cancelled on the server. Read while writers are active, an aggregate over shards is approximate.
   *
   * @throws ShardingError `out_of_topology` for a group without shards
   */
  async each<T>(
    work: (db: ShardDb) => Promise<T> | T,
    options: EachOptions = {},
  ): Promise<ShardOutcome<Shard, T>[]> {
    return this.#fanOut(options, async (shard) => work(await shard.primary()));
  }

  /** {@link each} with the reader of every shard instead of its primary. */
  async eachReader<T>(
    work: (reader: Reader, shard: Shard) => Promise<T> | T,
    options: EachOptions = {},
  ): Promise<ShardOutcome<Shard, T>[]> {
    return this.#fanOut(options, (shard) => work(shard.reader(), shard));
  }

  /**
   * Begins a read of all shards, which asks each for the rows that it owns: while rows move, two may hold them.
   *
   * @throws ShardingError `directory_unavailable` where rows move and nobody can say where they are routed
   */
  beginWholeRead(): Promise<WholeRead> {
    const hold = this.#shards.length > 1 ? this.#holdMoves : () => NO_MOVES;
    return beginWholeRead(hold, { router: this.#router, rules: this.#rules });
  }

  /** Notes that the running work uses these shards, for its metrics. */
  note(shards: readonly Shard[]): void {
    for (const { name } of shards) this.#keys.routed?.(name);
  }

  /** A shard by name. @throws ShardingError `unknown_shard` */
  named(name: string): Shard {
    const shard = this.#byName.get(name) ?? this.#byName.get(this.topology.byName(name).name);
    if (!shard) throw new ShardingError('unknown_shard', `shard "${name}" has no database`);
    return shard;
  }

  /** {@link shardFor}, at once where nothing needs to be waited for. */
  route(key: RoutingKey, request?: object): MaybePromise<Shard> {
    return chain(routeKey(this.#router, key, this.#rules), ({ name }) => {
      this.#keys.routed?.(name, request);
      return this.named(name);
    });
  }

  /**
   * The shards where the rows of a place may be: the one that has the identifier, or to which the key of a slot is
   * routed. Of a slot whose key is not known the owner comes first, then the shards that keys of the slot are sent to.
   *
   * @param options what becomes of an identifier that names no shard
   * @throws ShardingError `unregistered_shard`; `residency_violation` for a key that is routed outside of the place's
   *   group; what the router throws
   */
  shardsOfPlace(place: Place, options?: PlaceOptions): MaybePromise<PlacedShards> {
    const asked = { router: this.#router, rules: this.#rules, options };
    return chain(placedShards(place, asked), ({ shards, missing }) => {
      const all = shards.map(({ name }) => {
        this.#keys.routed?.(name);
        return this.named(name);
      });
      return missing ? Object.assign(all, { missing }) : all;
    });
  }

  /** The routing key of the running work, undefined where there is none. @throws what the tenant source throws else */
  knownKey(): MaybePromise<RoutingKey | undefined> {
    try {
      const key = this.#keys.routingKey();
      return key instanceof Promise ? key.catch(noKey) : key;
    } catch (error) {
      return noKey(error);
    }
  }

  async #reader(key: RoutingKey, mode: ReadMode): Promise<Reader> {
    const reader = (await this.route(key)).reader(mode);
    reader.assertAvailable();
    return reader;
  }

  async #fanOut<T>(
    { width = DEFAULT_WIDTH, deadlineMs = DEFAULT_EACH_DEADLINE_MS, signal, group }: EachOptions,
    work: (shard: Shard) => Promise<T> | T,
  ): Promise<ShardOutcome<Shard, T>[]> {
    if (!Number.isInteger(width) || width < 1) {
      throw new ShardingError('invalid_options', 'width is a whole number of at least 1');
    }
    const shards = this.all(group);
    this.note(shards);
    return fanOut(shards, width, (shard) =>
      within(`the work on shard "${shard.name}"`, { deadlineMs, signal }, async () => work(shard)),
    );
  }
}

function noKey(error: unknown): undefined {
  if (error instanceof ShardingError && error.code === 'no_routing_key') return undefined;
  throw error;
}
