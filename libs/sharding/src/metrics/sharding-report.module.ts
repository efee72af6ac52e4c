import { Module } from '@nestjs/common';
import { metricsPaths } from './metrics-paths.js';
import { reportController } from './report.controller.js';
import type { DynamicModule } from '@nestjs/common';
import type { MetricsOptions } from './metrics-paths.js';

/** The JSON report alone, where prom-client is not installed. */
@Module({})
export class ShardingReportModule {
  static register(options: MetricsOptions = {}): DynamicModule {
    return { module: ShardingReportModule, controllers: [reportController(metricsPaths(options).json)] };
  }
}
