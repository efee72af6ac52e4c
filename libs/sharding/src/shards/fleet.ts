import { Control } from './control.js';
import { ControlPool } from './control-pool.js';
import { Database } from './database.js';
import { budgetWarnings, totalMaxConnections } from './connection-budget.js';
import { Causality } from './reads/causality.js';
import { Reads } from './reads/reads.js';
import { Replica } from './reads/replica.js';
import { ReplicaMonitor } from './reads/replica-monitor.js';
import { Shard } from './shard.js';
import { Telemetry } from './telemetry.js';
import type { DataSource } from 'typeorm';
import type { EntityList } from '../typeorm.options.js';
import type { ShardingSettings, ShardSettings } from '../sharding.settings.js';
import type { CausalContext } from './reads/causality.js';

interface FleetParts {
  readonly shards: readonly Shard[];
  readonly control: Control | undefined;
  readonly telemetry: Telemetry;
  readonly probeIntervalMs: number;
  readonly drainTimeoutMs: number;
  /** A further pool on the control database; absent without one. */
  readonly controlPool: ((poolSize: number) => Database) | undefined;
}

/** Every database of the process. Created once at boot without connecting; closes what it created. */
export class Fleet {
  /** In declaration order. */
  readonly shards: readonly Shard[];
  readonly control: Control | undefined;
  /** What happens on the databases, for metrics and traces. */
  readonly telemetry: Telemetry;
  /** Control first; one entry a database, also where it is control and shard at once. */
  readonly reads: readonly Reads[];
  readonly #databases: Database[];
  readonly #controlPool: FleetParts['controlPool'];
  readonly #monitors: readonly ReplicaMonitor[];
  readonly #drainTimeoutMs: number;
  #drain: NodeJS.Timeout | undefined;
  #budget: Promise<void> | undefined;
  readonly #budgetStop = new AbortController();
  #metadata: Promise<DataSource> | undefined;

  private constructor(parts: FleetParts) {
    const { shards, control, telemetry, probeIntervalMs, drainTimeoutMs } = parts;
    this.shards = shards;
    this.control = control;
    this.telemetry = telemetry;
    this.#controlPool = parts.controlPool;
    this.reads = [...new Set([...(control ? [control.reads] : []), ...shards.map((shard) => shard.reads)])];
    const replicas = this.reads.flatMap(({ replica }) => (replica ? [replica] : []));
    this.#databases = [
      ...this.reads.map(({ primary }) => primary),
      ...replicas.map(({ database }) => database),
    ];
    this.#monitors = replicas.map((replica) => new ReplicaMonitor(replica, probeIntervalMs));
    this.#drainTimeoutMs = drainTimeoutMs;
  }

  /** @param context keeps what the running work has written where */
  static async create(settings: ShardingSettings, context: CausalContext): Promise<Fleet> {
    const { typeorm, unsharded, drainTimeoutMs } = settings;
    const telemetry = new Telemetry();
    const builder = { settings, context, telemetry };
    const sharded = list(typeorm.shardEntities);
    const entities = unsharded ? [...sharded, ...list(typeorm.controlEntities)] : typeorm.shardEntities;
    const shards = settings.shards.map(
      (shard) => new Shard(settings.topology.byName(shard.name), readsOf(shard, entities, builder)),
    );
    const reads = unsharded ? shards[0]?.reads : controlReads(builder);
    const control = reads && (await Control.create(reads, unsharded ? [] : sharded));
    const { probeIntervalMs } = settings.reads;
    const controlPool = control && furtherPool(builder);
    return new Fleet({ shards, control, telemetry, probeIntervalMs, drainTimeoutMs, controlPool });
  }

  /** A pool of its own on the control database, opened at its first use and closed with the others; none without one. */
  controlPool(poolSize: number): ControlPool | undefined {
    const database = this.#controlPool?.(poolSize);
    if (!database) return undefined;
    this.#databases.push(database);
    return new ControlPool(database);
  }

  /** The most connections that this process may open. */
  get totalMaxConnections(): number {
    return totalMaxConnections(this.#databases);
  }

  /** The primary of a place and its replica, where it has one; of the control database where no shard is named. */
  databasesOf({ shard }: { readonly shard: string | undefined }): Database[] {
    const place = shard === undefined ? this.control : this.shards.find(({ name }) => name === shard);
    const { primary, replica } = place?.reads ?? {};
    return [...(primary ? [primary] : []), ...(replica ? [replica.database] : [])];
  }

  /** A `DataSource` that knows every entity of the shards, connected or not. */
  metadataSource(): Promise<DataSource> {
    return (this.#metadata ??= this.#buildMetadata());
  }

  /** True from the begin of a shutdown on. */
  get draining(): boolean {
    return this.#drain !== undefined;
  }

  /** Begins to watch the replicas; waits, for a short bounded time, until each was looked at once. */
  async start(): Promise<void> {
    await Promise.all(this.#monitors.map((monitor) => monitor.start()));
  }

  /** Compares the pools with what the servers take, in the background; a boot waits for no server. */
  checkBudget(warn: (line: string) => void): void {
    this.#budget ??= budgetWarnings(this.#databases, this.#budgetStop.signal).then((lines) =>
      lines.forEach(warn),
    );
  }

  /**
   * Starts the drain: work that still runs after `drain_timeout_ms` is interrupted, so that HTTP, which waits for its
   * requests, can close. {@link close} ends it.
   */
  beginDrain(): void {
    for (const monitor of this.#monitors) monitor.stop();
    this.#drain ??= setTimeout(() => {
      for (const database of this.#databases) void database.interrupt().catch(() => undefined);
    }, this.#drainTimeoutMs).unref();
  }

  /** Drains and closes every database, all at once; one that fails stops no other. Reports all failures. */
  async close(): Promise<void> {
    this.beginDrain(); // nobody may have asked for it
    clearTimeout(this.#drain);
    this.#budgetStop.abort(); // those being asked have their own bound
    await this.#budget;
    const closed = await Promise.allSettled(
      this.#databases.map((database) => database.close(this.#drainTimeoutMs)),
    );
    const failures = closed.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} databases did not close cleanly`);
  }

  async #buildMetadata(): Promise<DataSource> {
    const [shard] = this.shards;
    if (!shard) throw new Error('a topology has at least one shard');
    const source = await shard.database.build();
    if (source.entityMetadatas.length === 0) await source['buildMetadatas']();
    return source;
  }
}

interface Builder {
  readonly settings: ShardingSettings;
  readonly context: CausalContext;
  readonly telemetry: Telemetry;
}

function controlReads(builder: Builder): Reads | undefined {
  const { control, controlReplica, typeorm } = builder.settings;
  if (!control) return undefined;
  const place = { primary: control, ...(controlReplica && { replica: controlReplica }) };
  return readsOf(place, typeorm.controlEntities, builder);
}

/** Pools on the control database, or on the only database there is. */
function furtherPool({ settings, telemetry }: Builder): ((poolSize: number) => Database) | undefined {
  const { control = settings.shards[0]?.primary, typeorm } = settings;
  return (
    control &&
    ((poolSize) => new Database({ settings: { ...control, poolSize }, typeorm, entities: [], telemetry }))
  );
}

function readsOf(
  place: Pick<ShardSettings, 'primary' | 'replica'>,
  entities: EntityList,
  { settings, context, telemetry }: Builder,
): Reads {
  const { typeorm, reads } = settings;
  const primary = new Database({ settings: place.primary, typeorm, entities, telemetry });
  if (!place.replica) return new Reads({ primary });
  const database = new Database({ settings: place.replica.database, typeorm, entities, telemetry });
  const { schema, migrationsTableName: name = 'migrations' } = typeorm.options;
  const replica = new Replica({
    database,
    primary,
    settings: place.replica,
    migrationsTable: { schema, name },
  });
  if (reads.readYourWrites === 'off') return new Reads({ primary, replica });
  const causality = new Causality(context, primary, reads.causalWaitMs);
  primary.causalMark = () => causality.mark();
  return new Reads({ primary, replica, causality });
}

/** TypeORM takes lists as arrays or as objects of named members. */
function list<T>(values: readonly T[] | Record<string, T>): T[] {
  return Object.values(values);
}
