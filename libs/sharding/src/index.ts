export { SHARDING_ERRORS, ShardingError } from '@app/routing';
export type { ShardingErrorCode } from '@app/routing';
export { loadShardingOptions } from './config/load-options.js';
export type { LoadOptions } from './config/load-options.js';
export { resolveOptions } from './config/resolve-options.js';
export type { HealthOptions } from './health/health-paths.js';
export { migrate } from './migrations/migrate.js';
export type { MigrationLog } from './migrations/migrate.js';
export { CONTROL_DATA_SOURCE, InjectControl } from './request/inject-control.decorator.js';
export { RoutingContext, setRoutingKey, tenantOf } from './request/routing-context.js';
export { ShardedDb } from './request/sharded-db.js';
export { Tenant } from './request/tenant.decorator.js';
export { ShardDb } from './shards/shard-db.js';
export { Shard } from './shards/shard.js';
export { Shards } from './shards/shards.js';
export type { PoolStats } from './shards/database.js';
export type { ShardOutcome } from './shards/fan-out.js';
export type { EachOptions } from './shards/shards.js';
export type { TxOptions } from './shards/transaction.js';
export { ShardingModule } from './sharding.module.js';
export type { ShardingAsyncOptions, ShardingSetup } from './sharding.module.js';
export { DatabaseOptions, ShardOptions } from './sharding.options.js';
export { TenancyOptions } from './tenancy.options.js';
export type {
  CreateDataSource,
  ShardingOptions,
  ShardingOptionsFactory,
  TypeOrmOptions,
} from './sharding.options.js';
export type { CustomTenantSource, PrincipalTenant, ShardingSettings } from './sharding.settings.js';
