import { IsArray, IsBoolean, IsIn, IsInt, IsOptional, IsString, Matches, Min } from 'class-validator';
import type { ShardRouter, SlotSpec } from '@app/routing';
import type { DataSource, DataSourceOptions, MigrationInterface } from 'typeorm';
import type { TenancyOptions } from './tenancy.options.js';

/** What a replica's readers get while it is not ready. */
export const REPLICA_FALLBACKS = ['fail_readiness', 'primary'] as const;
export type ReplicaFallback = (typeof REPLICA_FALLBACKS)[number];

export type PostgresOptions = Extract<DataSourceOptions, { type: 'postgres' }>;
export type EntityList = NonNullable<PostgresOptions['entities']>;
export type SubscriberList = NonNullable<PostgresOptions['subscribers']>;
export type MigrationList = readonly (new () => MigrationInterface)[];

/** TypeORM options for every `DataSource`, less those that the library decides. */
export type TypeOrmOptions = Partial<Omit<PostgresOptions, (typeof RESERVED_TYPEORM_OPTIONS)[number]>>;

/** Options of TypeORM that would bypass the pools, the routing or the migrations of the library. */
export const RESERVED_TYPEORM_OPTIONS = [
  'type',
  'url',
  'host',
  'port',
  'username',
  'password',
  'database',
  'replication',
  'entities',
  'subscribers',
  'migrations',
  'migrationsRun',
  'synchronize',
  'dropSchema',
  'parseInt8',
  'poolSize',
  'connectTimeoutMS',
  'poolErrorHandler',
  'invalidWhereValuesBehavior',
] as const;

/** Keys of `typeorm.extra`, which goes to the pool as it is, that would do the same. */
export const RESERVED_EXTRA_OPTIONS = [
  'connectionString',
  'host',
  'port',
  'user',
  'password',
  'database',
  'max',
  'connectionTimeoutMillis',
  'Client',
] as const;

/**
 * Builds the `DataSource` of one database itself, for rotating tokens, proxies or an own driver.
 *
 * @param target `control` or `shard:<name>`
 * @param role `primary` (replicas have their own `DataSource`)
 * @param options what the library would have used; keep `extra.Client` and `poolErrorHandler`
 */
export type CreateDataSource = (
  target: string,
  role: 'primary' | 'replica',
  options: PostgresOptions,
) => DataSource | Promise<DataSource>;

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

  /** The server ends a statement after this. Default: the server's own setting. */
  @IsOptional()
  @IsInt()
  @Min(1)
  statementTimeoutMs?: number;

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
  /** Migration classes; control first, then the shards in declaration order. */
  migrations?: { control?: MigrationList; shards?: MigrationList } | undefined;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface ShardingOptionsFactory {
  createShardingOptions(): ShardingOptions | Promise<ShardingOptions>;
}
