export { metricsReport } from './database-shards.js';
export type { DatabaseMetrics, MetricsReport, PlaceMetrics, ReplicaMetrics } from './database-shards.js';
export { FleetMetrics } from './fleet-metrics.js';
export type { MetricsOptions, MetricsRegistry } from './metrics-paths.js';
export { ShardingMetricsModule } from './sharding-metrics.module.js';
