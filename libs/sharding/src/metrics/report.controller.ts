import { Controller, Get, Inject, VERSION_NEUTRAL } from '@nestjs/common';
import { Fleet } from '../shards/fleet.js';
import { metricsReport } from './database-shards.js';
import type { Type } from '@nestjs/common';
import type { MetricsReport } from './database-shards.js';

/** The controller of the JSON report; needs no further package. */
export function reportController(path: string): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  class ReportController {
    constructor(@Inject(Fleet) private readonly fleet: Fleet) {}

    @Get()
    report(): MetricsReport {
      return metricsReport(this.fleet);
    }
  }

  return ReportController;
}
