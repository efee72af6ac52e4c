import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DatabaseProbe } from './database-probe.js';
import { DEFAULT_PROBE_TIMEOUT_MS, healthPaths } from './health-paths.js';
import { healthControllers } from './health.controller.js';
import { ShardHealthIndicator } from './shard-health.indicator.js';
import type { DynamicModule } from '@nestjs/common';
import type { HealthOptions } from './health-paths.js';

/**
 * Health over Terminus. `ShardingModule.forRoot()` imports it where Terminus is installed; import it yourself, with
 * `health: false` there, to place it elsewhere. {@link ShardHealthIndicator} is exported.
 */
@Module({})
export class ShardingHealthModule {
  /** @param routes `mounted`, or `none` to use the indicator in a controller of your own */
  static register(options: HealthOptions = {}, routes: 'mounted' | 'none' = 'mounted'): DynamicModule {
    const probe = new DatabaseProbe(options.timeoutMs ?? DEFAULT_PROBE_TIMEOUT_MS);
    return {
      module: ShardingHealthModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: routes === 'mounted' ? healthControllers(healthPaths(options)) : [],
      providers: [{ provide: DatabaseProbe, useValue: probe }, ShardHealthIndicator],
      exports: [ShardHealthIndicator],
    };
  }
}
