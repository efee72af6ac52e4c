import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ShardFacts } from '../shard-facts.js';
import { Fleet } from '../shards/fleet.js';
import { FleetMetrics } from './fleet-metrics.js';
import { metricsPaths } from './metrics-paths.js';
import { prometheusController } from './prometheus.controller.js';
import { reportController } from './report.controller.js';
import type { DynamicModule } from '@nestjs/common';
import type { MetricsOptions } from './metrics-paths.js';

/**
 * Prometheus metrics over prom-client, and the JSON report. `ShardingModule.forRoot()` imports it where prom-client is
 * installed; import it yourself, with `metrics: false` there, to place it elsewhere.
 */
@Module({})
export class ShardingMetricsModule {
  /** @param routes `mounted`, or `none` to serve `FleetMetrics.registry` from a controller of your own */
  static register(options: MetricsOptions = {}, routes: 'mounted' | 'none' = 'mounted'): DynamicModule {
    const { prometheus, json } = metricsPaths(options);
    return {
      module: ShardingMetricsModule,
      controllers: routes === 'mounted' ? [prometheusController(prometheus), reportController(json)] : [],
      providers: [
        {
          provide: FleetMetrics,
          inject: [Fleet, ShardFacts],
          useFactory: (fleet: Fleet, facts: ShardFacts) => {
            const registry = (options.registry as Registry | undefined) ?? new Registry();
            const metrics = new FleetMetrics(fleet, registry, options);
            facts.watch((fact) => metrics.addFact(fact));
            return metrics;
          },
        },
      ],
      exports: [FleetMetrics],
    };
  }
}
