export { DatabaseProbe } from './database-probe.js';
export type { ProbeResult } from './database-probe.js';
export type { HealthOptions } from './health-paths.js';
export { ShardHealthIndicator } from './shard-health.indicator.js';
export { ShardingHealthModule } from './sharding-health.module.js';
