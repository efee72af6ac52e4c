import { Controller, Get, Inject, VERSION_NEUTRAL } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { ShardHealthIndicator } from './shard-health.indicator.js';
import type { Type } from '@nestjs/common';
import type { HealthCheckResult } from '@nestjs/terminus';
import type { HealthPaths } from './health-paths.js';

/** Controllers for the configured paths: readiness asks every database, liveness asks none. */
export function healthControllers({ readiness, liveness }: HealthPaths): Type[] {
  @Controller({ path: [...liveness], version: VERSION_NEUTRAL })
  class LivenessController {
    @Get()
    live(): { status: 'ok' } {
      return { status: 'ok' };
    }
  }

  @Controller({ path: [...readiness], version: VERSION_NEUTRAL })
  class ReadinessController {
    constructor(
      @Inject(HealthCheckService) private readonly health: HealthCheckService,
      @Inject(ShardHealthIndicator) private readonly indicator: ShardHealthIndicator,
    ) {}

    @Get()
    @HealthCheck()
    ready(): Promise<HealthCheckResult> {
      return this.health.check(this.indicator.all());
    }
  }

  return [LivenessController, ReadinessController];
}
