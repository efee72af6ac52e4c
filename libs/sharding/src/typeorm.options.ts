import type { DataSource, DataSourceOptions, MigrationInterface } from 'typeorm';

export type PostgresOptions = Extract<DataSourceOptions, { type: 'postgres' }>;
export type EntityList = NonNullable<PostgresOptions['entities']>;
export type SubscriberList = NonNullable<PostgresOptions['subscribers']>;
export type MigrationType = new () => MigrationInterface;
/** Classes, and globs of files that export some. */
export type MigrationList = readonly (MigrationType | string)[];

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
  'isolationLevel',
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
 * @param role a replica has a `DataSource` of its own
 * @param options what the library would have used; keep `extra.Client` and `poolErrorHandler`
 */
export type CreateDataSource = (
  target: string,
  role: 'primary' | 'replica',
  options: PostgresOptions,
) => DataSource | Promise<DataSource>;
