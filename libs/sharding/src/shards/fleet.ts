import { Control } from './control.js';
import { Database } from './database.js';
import { totalMaxConnections } from './pool-budget.js';
import { Shard } from './shard.js';
import type { ShardingSettings } from '../sharding.settings.js';

interface FleetParts {
  readonly shards: readonly Shard[];
  readonly control: Control | undefined;
  readonly databases: readonly Database[];
  readonly drainTimeoutMs: number;
}

/** Every database of the process. Created once at boot without connecting; closes what it created. */
export class Fleet {
  /** In declaration order. */
  readonly shards: readonly Shard[];
  readonly control: Control | undefined;
  readonly #databases: readonly Database[];
  readonly #drainTimeoutMs: number;
  #drain: NodeJS.Timeout | undefined;

  private constructor(parts: FleetParts) {
    this.shards = parts.shards;
    this.control = parts.control;
    this.#databases = parts.databases;
    this.#drainTimeoutMs = parts.drainTimeoutMs;
  }

  static async create(settings: ShardingSettings): Promise<Fleet> {
    const { typeorm, unsharded, drainTimeoutMs } = settings;
    const sharded = list(typeorm.shardEntities);
    const entities = unsharded ? [...sharded, ...list(typeorm.controlEntities)] : typeorm.shardEntities;
    const shards = settings.shards.map(
      ({ name, primary }) =>
        new Shard(settings.topology.byName(name), new Database(primary, typeorm, entities)),
    );
    const only = unsharded ? shards[0]?.database : undefined;
    const database =
      only ?? (settings.control && new Database(settings.control, typeorm, typeorm.controlEntities));
    const control = database && (await Control.create(database, unsharded ? [] : sharded));
    const databases = new Set([...(database ? [database] : []), ...shards.map((shard) => shard.database)]);
    return new Fleet({ shards, control, databases: [...databases], drainTimeoutMs });
  }

  /** The most connections that this process may open. */
  get totalMaxConnections(): number {
    return totalMaxConnections(this.#databases);
  }

  /**
   * Starts the drain: work that still runs after `drain_timeout_ms` is interrupted, so that HTTP, which waits for its
   * requests, can close. {@link close} ends it.
   */
  beginDrain(): void {
    this.#drain ??= setTimeout(() => {
      for (const database of this.#databases) void database.interrupt().catch(() => undefined);
    }, this.#drainTimeoutMs).unref();
  }

  /** Drains and closes every database, all at once; one that fails stops no other. Reports all failures. */
  async close(): Promise<void> {
    clearTimeout(this.#drain);
    const closed = await Promise.allSettled(
      this.#databases.map((database) => database.close(this.#drainTimeoutMs)),
    );
    const failures = closed.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} databases did not close cleanly`);
  }
}

/** TypeORM takes lists as arrays or as objects of named members. */
function list<T>(values: readonly T[] | Record<string, T>): T[] {
  return Object.values(values);
}
