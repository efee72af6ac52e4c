export { SHARDING_ERRORS, ShardingError } from '@app/routing';
export type { ShardingErrorCode } from '@app/routing';
export { loadShardingOptions } from './config/load-options.js';
export type { LoadOptions } from './config/load-options.js';
export { resolveOptions } from './config/resolve-options.js';
export { DirectoryConnection } from './directory/directory-connection.js';
export type { DirectoryOptions } from './directory/directory-connection.js';
export { DirectoryRouter } from './directory/directory-router.js';
export type { DirectoryRouterOptions } from './directory/directory-router.js';
export { Pins } from './directory/pins.js';
export type { ListOptions, PinEntry, PinOptions, PlaceOptions } from './directory/pins.js';
export type { HealthOptions } from './health/health-paths.js';
export type { MetricsOptions, MetricsRegistry } from './metrics/metrics-paths.js';
export { CONTROL_MIGRATIONS, SHARD_MIGRATIONS } from './migrations/framework/framework-migrations.js';
export type { FrameworkMigration } from './migrations/framework/framework-migrations.js';
export { migrate } from './migrations/migrate.js';
export type { MigrateOptions } from './migrations/migrate.js';
export { migrateDown } from './migrations/migrate-down.js';
export type { MigrateDownOptions } from './migrations/migrate-down.js';
export type { MigrationLimits, MigrationLog } from './migrations/migration-limits.js';
export { migrationStatus } from './migrations/migration-status.js';
export type { TargetStatus } from './migrations/migration-status.js';
export type { MigrationProgress } from './migrations/run-targets.js';
export { MigrationFailed } from './migrations/target-result.js';
export type { TargetFailure, TargetResult, TargetState } from './migrations/target-result.js';
export { MigrationsOptions } from './migrations.options.js';
export { CrossShardFinder } from './repository/cross-shard-finder.decorator.js';
export type { CrossShardFanOut, CrossShardTarget } from './repository/cross-shard-reads.js';
export { CrossShard } from './repository/cross-shard.decorator.js';
export type { CrossShardRepository } from './repository/scatter/cross-shard-repository.js';
export { ScatterRepository, scatterRepository } from './repository/scatter/scatter-repository.js';
export type { ScatterSettings } from './repository/scatter/scatter.js';
export {
  InjectShardedRepository,
  shardedRepositoryToken,
} from './repository/inject-sharded-repository.decorator.js';
export type { IdOf } from './repository/placed/given-ids.js';
export type { PlacedParts } from './repository/placed/placed-parts.js';
export { PlacedRepository } from './repository/placed/placed-repository.js';
export type { MayScatter, PlacedCriteria } from './repository/placed/placed-repository.js';
export { ShardedEntity } from './repository/sharded-entity.js';
export type {
  PlacedEntityOptions,
  ShardedEntityOptions,
  TenantEntityOptions,
} from './repository/sharded-entity.js';
export { ShardedId } from './repository/sharded-id.decorator.js';
export type { ShardedIdKind, ShardedIdOptions } from './repository/sharded-id.decorator.js';
export { ShardedRepository } from './repository/sharded-repository.js';
export type { RepositoryParts } from './repository/repository-parts.js';
export { CONTROL_DATA_SOURCE, CONTROL_READER, InjectControl } from './request/inject-control.decorator.js';
export { RoutingContext, setRoutingKey, tenantOf } from './request/routing-context.js';
export { SESSION_COOKIE, SESSION_HEADER } from './request/session/session-response.js';
export { ShardedDb } from './request/sharded-db.js';
export { Tenant } from './request/tenant.decorator.js';
export { ReadRepository } from './shards/reads/read-repository.js';
export { Reader } from './shards/reads/reader.js';
export type { ReadTxOptions } from './shards/reads/reader.js';
export type { ReplicaStatus } from './shards/reads/replica.js';
export { ShardDb } from './shards/shard-db.js';
export { Shard } from './shards/shard.js';
export { Shards } from './shards/shards.js';
export type { PoolStats } from './shards/database.js';
export type { ShardOutcome } from './shards/fan-out.js';
export type { EachOptions, RunForOptions } from './shards/shards.js';
export type { WorkLimits } from './shards/work-scope.js';
export type { TxOptions } from './shards/transaction.js';
export { ShardingModule } from './sharding.module.js';
export type { ShardingSetup } from './optional-modules.js';
export type { ShardingAsyncOptions, ShardingRootOptions } from './sharding.module.js';
export type { PlacementSetup, Provided } from './placement.providers.js';
export { ShardOptions } from './shard.options.js';
export { DatabaseOptions } from './sharding.options.js';
export { TenancyOptions } from './tenancy.options.js';
export type { ShardingOptions, ShardingOptionsFactory } from './sharding.options.js';
export type { CreateDataSource, TypeOrmOptions } from './typeorm.options.js';
export type { CustomTenantSource, PrincipalTenant, ShardingSettings } from './sharding.settings.js';
