import { IsArray, IsBoolean, IsIn, IsInt, IsOptional, IsString, Matches, Min } from 'class-validator';
import type { ExecutionContext } from '@nestjs/common';
import type { ShardRouter, SlotSpec } from '@app/routing';
import type { TenancyOptions } from './tenancy.options.js';
import type {
  CreateDataSource,
  EntityList,
  MigrationList,
  SubscriberList,
  TypeOrmOptions,
} from './typeorm.options.js';

/** What a replica's readers get while it is not ready. */
export const REPLICA_FALLBACKS = ['fail_readiness', 'primary'] as const;
export type ReplicaFallback = (typeof REPLICA_FALLBACKS)[number];

/** Whether a replica read sees the writes that its own context made before. */
export const READ_YOUR_WRITES = ['off', 'request', 'session'] as const;
export type ReadYourWrites = (typeof READ_YOUR_WRITES)[number];

/** Whether reads over all shards are welcome. */
export const SCATTER_POLICIES = ['allow', 'warn', 'deny'] as const;
export type ScatterPolicy = (typeof SCATTER_POLICIES)[number];

/** What stands between this process and a database. */
export const POOLERS = ['none', 'transaction'] as const;
export type Pooler = (typeof POOLERS)[number];

/**
 * Decides who may read across tenants. The context is that of the handler, or undefined for
 * `repository.acrossTenants()`, which asks at once and takes a boolean only.
 */
export type CrossShardAccess = (context: ExecutionContext | undefined) => boolean | Promise<boolean>;

const IsPostgresUrl = () =>
  Matches(/^postgres(?:ql)?:\/\/\S+$/i, { message: 'must be a postgres:// or postgresql:// URL' });

/** One `[[database.shards]]` entry. */
export class ShardOptions {
  /** Stable identity in logs, health, metrics and the command line. */
  @IsString()
  name!: string;

  @IsPostgresUrl()
  primaryUrl!: string;

  /** Slots or ranges `"A-B"` (inclusive). All shards of a group declare them, or none does. `[]` is drained. */
  @IsOptional()
  @IsArray()
  slots?: SlotSpec[];

  /** Policy axis: where the data is allowed to live, 0 to 255. Default 0. */
  @IsOptional()
  @IsInt()
  group?: number;

  /** Capacity axis within the group, 0 to 63. Default: by declaration order. */
  @IsOptional()
  @IsInt()
  member?: number;

  /** A streaming replica of this shard's primary; readers use it while it is ready. */
  @IsOptional()
  @IsPostgresUrl()
  replicaUrl?: string;

  /** Connections to the primary; default `database.primaryPoolSize`. */
  @IsOptional()
  @IsInt()
  @Min(1)
  primaryPoolSize?: number;

  @IsOptional()
  @IsInt()
  @Min(1)
  replicaPoolSize?: number;

  @IsOptional()
  @IsIn(REPLICA_FALLBACKS)
  replicaFallback?: ReplicaFallback;

  /** A direct connection (not through a transaction-mode pooler) for migrations and the like. */
  @IsOptional()
  @IsPostgresUrl()
  maintenanceUrl?: string;

  @IsOptional()
  @IsIn(POOLERS)
  pooler?: Pooler;

  @IsOptional()
  @IsInt()
  @Min(1)
  connectTimeoutMs?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  statementTimeoutMs?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  idleInTransactionTimeoutMs?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  maxReplicaLagMs?: number;
}

/** `[database]`: the control database and what all databases share. */
export class DatabaseOptions {
  /** The control database. `url` is the same. */
  @IsOptional()
  @IsPostgresUrl()
  primaryUrl?: string;

  @IsOptional()
  @IsPostgresUrl()
  url?: string;

  /** A streaming replica of the control database, for `@InjectControl('reader')`. */
  @IsOptional()
  @IsPostgresUrl()
  replicaUrl?: string;

  /** Connections of each pool. Default 10. */
  @IsOptional()
  @IsInt()
  @Min(1)
  poolSize?: number;

  /** Connections of each primary's pool; default `poolSize`. */
  @IsOptional()
  @IsInt()
  @Min(1)
  primaryPoolSize?: number;

  @IsOptional()
  @IsInt()
  @Min(1)
  replicaPoolSize?: number;

  /** Default `fail_readiness`. */
  @IsOptional()
  @IsIn(REPLICA_FALLBACKS)
  replicaFallback?: ReplicaFallback;

  /** Bound of a connect and of the wait for a free connection. Default 5000. */
  @IsOptional()
  @IsInt()
  @Min(1)
  connectTimeoutMs?: number;

  /** The server ends a statement after this, and 5 s later this side does. Default 30000; 0: no bound. */
  @IsOptional()
  @IsInt()
  @Min(0)
  statementTimeoutMs?: number;

  /** The server ends a session whose transaction waits this long for its next statement. Default 60000; 0: no bound. */
  @IsOptional()
  @IsInt()
  @Min(0)
  idleInTransactionTimeoutMs?: number;

  /** Slower statements are logged with their text, without parameters. Default 500; 0 logs none. */
  @IsOptional()
  @IsInt()
  @Min(0)
  slowQueryThresholdMs?: number;

  /** Boot warns when all pools together reach this. Default 100; 0 never warns. */
  @IsOptional()
  @IsInt()
  @Min(0)
  maxConnectionsWarnThreshold?: number;

  /** Close waits this long for running work. Default 10000. */
  @IsOptional()
  @IsInt()
  @Min(0)
  drainTimeoutMs?: number;

  /** Pins from the control database before the hash. */
  @IsOptional()
  @IsBoolean()
  directoryShardRouter?: boolean;

  @IsOptional()
  @IsPostgresUrl()
  maintenanceUrl?: string;

  /** `transaction`: a PgBouncer in transaction mode, or one like it. Default `none`. */
  @IsOptional()
  @IsIn(POOLERS)
  pooler?: Pooler;

  /** Default `request`: a reader sees what its own request, or `runFor`, has written. */
  @IsOptional()
  @IsIn(READ_YOUR_WRITES)
  readYourWrites?: ReadYourWrites;

  /** How long a read waits for the replica to reach its context's write before the primary is asked. Default 100. */
  @IsOptional()
  @IsInt()
  @Min(0)
  causalWaitMs?: number;

  /** A replica that lags more is not ready. Default 0: any lag will do. */
  @IsOptional()
  @IsInt()
  @Min(0)
  maxReplicaLagMs?: number;

  /** Time between two probes of a replica. Default 1000. */
  @IsOptional()
  @IsInt()
  @Min(10)
  replicaProbeIntervalMs?: number;

  /** Signs the tokens of `readYourWrites = session`; at least 32 bytes, the same in every process. */
  @IsOptional()
  @IsString()
  sessionSecret?: string;

  /** A client that goes away cancels the statements of its request. Default false. */
  @IsOptional()
  @IsBoolean()
  cancelOnDisconnect?: boolean;

  /** Reads over all shards: `warn` logs each as a warning, `deny` refuses them. Default `allow`. */
  @IsOptional()
  @IsIn(SCATTER_POLICIES)
  scatter?: ScatterPolicy;

  /** Signs page cursors; at least 32 bytes, the same in every process. Default: one that ends with the process. */
  @IsOptional()
  @IsString()
  cursorSecret?: string;

  @IsOptional()
  @IsArray()
  shards?: ShardOptions[];
}

/**
 * All options of `ShardingModule.forRoot(options)`; `sharding.toml` has the first two sections in snake_case.
 *
 * Defaults are applied once, by `resolveOptions()`.
 */
export interface ShardingOptions {
  database?: DatabaseOptions | undefined;
  tenancy?: TenancyOptions | undefined;
  /** Sharded entities: registered on every shard, and only there. */
  entities?: EntityList | undefined;
  /** Entities of the control database, registered only there. */
  controlEntities?: EntityList | undefined;
  /** Subscribers of every `DataSource`. */
  subscribers?: SubscriberList | undefined;
  /** Options of every `DataSource` (logger, ssl, extra ...). */
  typeorm?: TypeOrmOptions | undefined;
  createDataSource?: CreateDataSource | undefined;
  /** Chooses the shard of a key. Default: the slot map (`HashRouter`). */
  router?: ShardRouter | undefined;
  /** Who may read across tenants, by `@CrossShard()` and `acrossTenants()`. Default: nobody. */
  crossShardAccess?: CrossShardAccess | undefined;
  /** Migration classes; control first, then the shards in declaration order. */
  migrations?: { control?: MigrationList; shards?: MigrationList } | undefined;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface ShardingOptionsFactory {
  createShardingOptions(): ShardingOptions | Promise<ShardingOptions>;
}
