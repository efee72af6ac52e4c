/** What reads the configuration without an application. Nothing in here loads `pg`, TypeORM or NestJS. */
export { clientConfig } from '../database-url.js';
export { Secret } from '../secret.js';
export type { ShardingOptions } from '../sharding.options.js';
export type { DatabaseSettings, ReplicaSettings, ShardingSettings } from '../sharding.settings.js';
export { snakeCase } from './key-style.js';
export { loadShardingOptions } from './load-options.js';
export type { LoadOptions } from './load-options.js';
export { didYouMean } from './option-schema.js';
export { resolveOptions } from './resolve-options.js';
