import { Logger } from '@nestjs/common';
import { ShardingReportModule } from './metrics/sharding-report.module.js';
import type { DynamicModule } from '@nestjs/common';
import type { HealthOptions } from './health/health-paths.js';
import type { MetricsOptions } from './metrics/metrics-paths.js';

/** What is mounted where the package that it needs is installed; known before the options are. */
export interface ShardingSetup {
  /** Health routes over Terminus. `false` mounts nothing. */
  readonly health?: false | HealthOptions | undefined;
  /** Metrics routes. `false` mounts and measures nothing. */
  readonly metrics?: false | MetricsOptions | undefined;
  /** OpenTelemetry spans of statements and transactions, while an SDK is registered. Default `on`. */
  readonly traces?: 'on' | 'off' | undefined;
}

/** Nothing but what is installed is loaded. */
export function optionalModules({ health, metrics, traces = 'on' }: ShardingSetup): Promise<DynamicModule>[] {
  return [
    ...(health === false ? [] : [healthModule(health)]),
    ...(metrics === false ? [] : [metricsModule(metrics)]),
    ...(traces === 'off' ? [] : [tracesModule()]),
  ];
}

async function healthModule(options: HealthOptions | undefined): Promise<DynamicModule> {
  const health = await installed(() => import('./health/index.js'));
  if (health) return health.ShardingHealthModule.register(options);
  logger().log('no health routes: @nestjs/terminus is not installed');
  return { module: class NoHealthModule {} };
}

async function metricsModule(options: MetricsOptions | undefined): Promise<DynamicModule> {
  const metrics = await installed(() => import('./metrics/index.js'));
  if (metrics) return metrics.ShardingMetricsModule.register(options);
  logger().log('no Prometheus metrics: prom-client is not installed');
  return ShardingReportModule.register(options);
}

async function tracesModule(): Promise<DynamicModule> {
  const traces = await installed(() => import('./metrics/traces.js'));
  return traces ? traces.ShardingTracesModule.register() : { module: class NoTracesModule {} };
}

/** Undefined where a package that it imports is not installed. */
async function installed<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

function logger(): Logger {
  return new Logger('ShardingModule');
}
