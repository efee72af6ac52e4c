import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Header, Inject, VersioningType } from '@nestjs/common';
import { Gauge, Registry, register } from 'prom-client';
import { Shards } from '@app/sharding';
import { FleetMetrics, ShardingMetricsModule, metricsReport } from '@app/sharding/metrics';
import { call } from '../../support/bookmarks.js';
import { deployment, type Deployment } from '../../support/deployment.js';
import { bootMetrics } from './metrics-app.js';
import { samplesOf, scrape, valueOf } from './samples.js';
import type { INestApplication } from '@nestjs/common';

let databases: Deployment;
const running: INestApplication[] = [];

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

const boot = async (...parts: Parameters<typeof bootMetrics>) => {
  const booted = await bootMetrics(...parts);
  running.push(booted.app);
  return booted;
};

const PRIMARY = { shard: 'shard0', role: 'primary' };
const MAX = ['sharding_pool_max_connections', PRIMARY] as const;
const TRANSACTIONS = ['sharding_transaction_duration_seconds_count', PRIMARY] as const;

async function tx({ app }: { app: INestApplication }): Promise<void> {
  await (await app.get(Shards).dbOn('shard0')).tx(async () => undefined);
}

describe('the registry', () => {
  it('is one of the application alone: two in a process do not clash, and the global one stays empty', async () => {
    const first = await boot(databases.options());
    const second = await boot(databases.options());
    await tx(first);
    expect(valueOf(await scrape(first.url), ...TRANSACTIONS)).toBe(1);
    expect(valueOf(await scrape(second.url), ...TRANSACTIONS)).toBeUndefined();
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it('may be given: what else is in it is served too, and stays when the application closes', async () => {
    const registry = new Registry();
    const own = new Gauge({ name: 'own', help: 'Own.', registers: [registry] });
    own.set(7);
    const { app, url } = await boot({ ...databases.options(), metrics: { registry } });
    const samples = await scrape(url);
    expect([valueOf(samples, 'own'), valueOf(samples, ...MAX)]).toEqual([7, 4]);
    const { telemetry } = app.get(Shards).named('shard0').database;
    expect(telemetry.active).toBe(true);
    await app.close();
    expect(telemetry.active).toBe(false);
    expect(await registry.metrics()).toBe('# HELP own Own.\n# TYPE own gauge\nown 7\n');
  });

  it('may be shared by two applications, which add up, until the last one leaves', async () => {
    const registry = new Registry();
    const first = await boot({ ...databases.options(), metrics: { registry } });
    const second = await boot({ ...databases.options({ poolSize: 3 }), metrics: { registry } });
    await tx(first);
    await tx(second);
    const both = await scrape(first.url);
    expect([valueOf(both, ...MAX), valueOf(both, ...TRANSACTIONS)]).toEqual([7, 2]);
    await first.app.close();
    expect(valueOf(await scrape(second.url), ...MAX)).toBe(3);
    await second.app.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('must not have a metric of the same name', async () => {
    const registry = new Registry();
    registry.registerMetric(new Gauge({ name: 'sharding_slots', help: 'Mine.', registers: [] }));
    await expect(boot({ ...databases.options(), metrics: { registry } })).rejects.toMatchObject({
      code: 'invalid_options',
      message:
        'the metrics registry has a metric sharding_slots already: give ShardingModule a registry without it',
    });
  });

  it('may speak OpenMetrics', async () => {
    const registry = new Registry();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    const { url } = await boot({ ...databases.options(), metrics: { registry } });
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toBe(Registry.OPENMETRICS_CONTENT_TYPE);
    expect(await response.text()).toMatch(/# EOF\n$/);
  });
});

describe('the routes', () => {
  it('are at the configured paths only', async () => {
    const metrics = { path: 'internal/prometheus', jsonPath: 'internal/shards' };
    const tenancy = { source: 'header', required: 'always' } as const;
    const { url } = await boot({ ...databases.options(), tenancy, metrics });
    expect((await fetch(`${url}/internal/prometheus`)).status).toBe(200);
    expect((await call(`${url}/internal/shards`)).status).toBe(200);
    expect((await fetch(`${url}/metrics`, { headers: { 'x-tenant-id': 'acme' } })).status).toBe(404);
  });

  it('know no version, and lie below the global prefix, where they need no tenant either', async () => {
    const tenancy = { source: 'header', required: 'always' } as const;
    const configure = (app: INestApplication) =>
      void app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    const { url } = await boot({ ...databases.options(), tenancy }, 'express', { configure });
    expect((await call(`${url}/api/actuator/metrics`)).status).toBe(200);
    await call(`${url}/api/v1/work/none`, { tenant: 'acme' });
    const samples = samplesOf(await (await fetch(`${url}/api/metrics`)).text());
    expect(valueOf(samples, 'http_server_request_duration_seconds_count', { status: '200' })).toBe(2);
    expect(
      valueOf(samples, 'http_server_request_duration_seconds_count', { route: '/api/v1/work/none' }),
    ).toBe(1);
  });

  it('are absent with `false`, and nothing is measured', async () => {
    const { app, url } = await boot({ ...databases.options(), metrics: false });
    expect((await call(`${url}/metrics`)).status).toBe(404);
    expect((await call(`${url}/actuator/metrics`)).status).toBe(404);
    expect(app.get(Shards).named('shard0').database.telemetry.active).toBe(false);
  });

  it('may be those of the application', async () => {
    @Controller('mine')
    class MineController {
      constructor(@Inject(FleetMetrics) private readonly metrics: FleetMetrics) {}

      @Get()
      @Header('content-type', 'text/plain')
      mine(): Promise<string> {
        return this.metrics.registry.metrics();
      }
    }
    const { url } = await boot({ ...databases.options(), metrics: false }, 'express', {
      imports: [ShardingMetricsModule.register({}, 'none')],
      controllers: [MineController],
    });
    const samples = samplesOf(await (await fetch(`${url}/mine`)).text());
    expect(valueOf(samples, ...MAX)).toBe(4);
    expect(valueOf(samples, 'http_server_request_duration_seconds_count')).toBeUndefined();
    expect(metricsReport).toBeInstanceOf(Function);
    expect((await call(`${url}/metrics`)).status).toBe(404);
  });
});
