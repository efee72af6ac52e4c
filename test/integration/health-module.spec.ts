import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Controller, Get, Inject } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Shards } from '@app/sharding';
import { ShardHealthIndicator, ShardingHealthModule } from '@app/sharding/health';
import { bootApp, deployment, listen, type Deployment } from '../support/deployment.js';
import { call } from '../support/bookmarks.js';
import type { INestApplication } from '@nestjs/common';

@Controller('status')
class StatusController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(ShardHealthIndicator) private readonly indicator: ShardHealthIndicator,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  @Get()
  @HealthCheck()
  one() {
    return this.health.check([() => this.indicator.shard(this.shards.named('shard1'))]);
  }
}

let databases: Deployment;
let app: INestApplication;

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(() => app.close());

it('lets a controller of the application use the indicator alone', async () => {
  app = await bootApp(
    { ...databases.options(), health: false },
    { imports: [TerminusModule, ShardingHealthModule.register({}, 'none')], controllers: [StatusController] },
  );
  const url = await listen(app);
  expect(Object.keys(((await call(`${url}/status`)).body as { details: object }).details)).toEqual([
    'db:shard:shard1',
  ]);
  expect((await call(`${url}/health`)).status).toBe(404);
});

it('mounts readiness and liveness at the configured paths only', async () => {
  app = await bootApp({
    ...databases.options(),
    health: { readinessPaths: ['internal/ready'], livenessPaths: ['internal/live'], timeoutMs: 2000 },
  });
  const url = await listen(app);
  const { body } = await call(`${url}/internal/ready`);
  expect(Object.keys((body as { details: object }).details)).toEqual([
    'db:control',
    'db:shard:shard0',
    'db:shard:shard1',
  ]);
  expect((await call(`${url}/internal/live`)).status).toBe(200);
  expect((await call(`${url}/health`)).status).toBe(404);
});
