import { IsPostgresUrl, POOLERS, REPLICA_FALLBACKS } from './shard.options.js';
import { IsArray, IsBoolean, IsIn, IsInt, IsOptional, IsString, Min } from './validators.js';
import type { ExecutionContext } from '@nestjs/common';
import type { MigrationsOptions } from './migrations.options.js';
import type { GroupOf, ShardRouter } from '@app/routing';
import type { Pooler, ReplicaFallback, ShardOptions } from './shard.options.js';
import type { TenancyOptions } from './tenancy.options.js';
import type { CreateDataSource, EntityList, SubscriberList, TypeOrmOptions } from './typeorm.options.js';

/** What routing does while the directory of pins cannot be read. */
export const DIRECTORY_OUTAGES = ['serve_stale', 'fail'] as const;
export type DirectoryOutage = (typeof DIRECTORY_OUTAGES)[number];

/** What routing knows is up to 3 s old while all is well and one answer is late. */
export const MIN_DIRECTORY_STALENESS_MS = 5000;

/** What a boot does about slots that changed their owner without a verified move. */
export const SLOT_MAP_GUARDS = ['warn', 'strict'] as const;
export type SlotMapGuard = (typeof SLOT_MAP_GUARDS)[number];

/** Whether a replica read sees the writes that its own context made before. */
export const READ_YOUR_WRITES = ['off', 'request', 'session'] as const;
export type ReadYourWrites = (typeof READ_YOUR_WRITES)[number];

/** Whether reads over all shards are welcome. */
export const SCATTER_POLICIES = ['allow', 'warn', 'deny'] as const;
export type ScatterPolicy = (typeof SCATTER_POLICIES)[number];

/**
 * Decides who may read across tenants. The context is that of the handler, or undefined for
 * `repository.acrossTenants()`, which asks at once and takes a boolean only.
 */
export type CrossShardAccess = (context: ExecutionContext | undefined) => boolean | Promise<boolean>;

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

  /** Up to so many pins every process keeps all of them; with more it looks them up. Default 100000. */
  @IsOptional()
  @IsInt()
  @Min(1)
  directorySnapshotMax?: number;

  /** How long a looked-up pin, or none, is believed. Default 30000. */
  @IsOptional()
  @IsInt()
  @Min(1000)
  directoryCacheTtlMs?: number;

  /** While the directory cannot be read: `serve_stale` (default), or `fail` after `directoryMaxStalenessMs`. */
  @IsOptional()
  @IsIn(DIRECTORY_OUTAGES)
  directoryOnOutage?: DirectoryOutage;

  /** Used with `fail`. At least 5000; default 30000. */
  @IsOptional()
  @IsInt()
  @Min(MIN_DIRECTORY_STALENESS_MS)
  directoryMaxStalenessMs?: number;

  /** Slots that changed owner without a verified move: `warn` (default), or `strict` refuses to boot. */
  @IsOptional()
  @IsIn(SLOT_MAP_GUARDS)
  slotMapGuard?: SlotMapGuard;

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

  /** Signs the certificates of moves; at least 32 bytes. Default: they are not signed. */
  @IsOptional()
  @IsString()
  moveCertificateSecret?: string;

  @IsOptional()
  @IsArray()
  shards?: ShardOptions[];
}

/**
 * All options of `ShardingModule.forRoot(options)`; `sharding.toml` has the first three sections in snake_case.
 *
 * Defaults are applied once, by `resolveOptions()`.
 */
export interface ShardingOptions {
  database?: DatabaseOptions | undefined;
  tenancy?: TenancyOptions | undefined;
  /** Migrations; control first, then the shards in declaration order. */
  migrations?: MigrationsOptions | undefined;
  /** The profile that the configuration was read for. */
  profile?: string | undefined;
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
  /** The group that a key belongs to: pure, the same answer for ever. Undefined: the directory says, else group 0. */
  groupOf?: GroupOf | undefined;
  /** Who may read across tenants, by `@CrossShard()` and `acrossTenants()`. Default: nobody. */
  crossShardAccess?: CrossShardAccess | undefined;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface ShardingOptionsFactory {
  createShardingOptions(): ShardingOptions | Promise<ShardingOptions>;
}
