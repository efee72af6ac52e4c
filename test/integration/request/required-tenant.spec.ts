import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';
import { ShardingModule } from '@app/sharding';
import { WhoController } from './tenant-app.js';
import type { INestApplication } from '@nestjs/common';
import type { TenancyOptions } from '@app/sharding';

@Controller()
class PlainController {
  @Get(['', 'about', 'login', 'login/reset', 'logins'])
  plain(): { ok: true } {
    return { ok: true };
  }
}

let app: INestApplication;

afterEach(() => app.close());

/** An application whose database cannot be reached: nothing here needs it. */
async function boot(
  tenancy: TenancyOptions,
  prefix?: Parameters<INestApplication['setGlobalPrefix']>,
): Promise<void> {
  const database = { url: 'postgres://127.0.0.1:1/none' };
  @Module({
    imports: [
      ShardingModule.forRoot({ database, tenancy, health: { livenessPaths: ['alive', 'health/live'] } }),
    ],
    controllers: [WhoController, PlainController],
  })
  class TestModule {}
  app = await NestFactory.create(TestModule, { logger: false, abortOnError: false });
  if (prefix) app.setGlobalPrefix(...prefix);
  await app.init();
}

/** The statuses of GET requests, without a tenant unless one is given. */
async function statuses(paths: readonly string[], tenant?: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const path of paths) {
    const get = request(app.getHttpServer()).get(path);
    found[path] = (await (tenant === undefined ? get : get.set('x-tenant-id', tenant))).status;
  }
  return found;
}

const MISSING = {
  statusCode: 400,
  code: 'no_routing_key',
  message: 'the request names no tenant: send the x-tenant-id header',
};

describe('a tenant that is required on use', () => {
  it('is asked for only where somebody wants it', async () => {
    await boot({});
    expect(await statuses(['/', '/about', '/login', '/who'])).toEqual({
      '/': 200,
      '/about': 200,
      '/login': 200,
      '/who': 400,
    });
    expect((await request(app.getHttpServer()).get('/who')).body).toEqual(MISSING);
  });
});

describe('a tenant that is required always', () => {
  it('is asked for on every path that is not public, known or not', async () => {
    await boot({ required: 'always', publicPaths: ['/login', '', '/'] });
    expect(
      await statuses(['/', '/about', '/logins', '/who', '/nowhere', '/login/../about', '//login']),
    ).toEqual({
      '/': 400,
      '/about': 400,
      '/logins': 400,
      '/who': 400,
      '/nowhere': 400,
      '/login/../about': 400,
      '//login': 400,
    });
    expect((await request(app.getHttpServer()).get('/about')).body).toEqual(MISSING);
    expect(await statuses(['/', '/about', '/logins', '/who', '/nowhere'], 'acme')).toEqual({
      '/': 200,
      '/about': 200,
      '/logins': 200,
      '/who': 200,
      '/nowhere': 404,
    });
  });

  it('is not asked for on public paths and those of health', async () => {
    await boot({ required: 'always', publicPaths: ['/login', 'about/'] });
    const paths = ['/login', '/login/', '/login/reset', '/login?x=/y', '/about', '/alive', '/health/live'];
    expect(await statuses(paths)).toEqual(Object.fromEntries(paths.map((path) => [path, 200])));
    expect(await statuses(['/health', '/ready', '/actuator/health'])).toEqual({
      '/health': 503,
      '/ready': 503,
      '/actuator/health': 503,
    });
  });

  it('must be acceptable where it is asked for, and may be anything where it is not', async () => {
    await boot({ required: 'always', publicPaths: ['/login'] });
    expect(await statuses(['/login', '/about'], 'acme, globex')).toEqual({ '/login': 200, '/about': 400 });
  });

  it('is asked for by a public path that uses it', async () => {
    await boot({ required: 'always', publicPaths: ['/who'] });
    expect((await request(app.getHttpServer()).get('/who').expect(400)).body).toEqual(MISSING);
  });

  it('is not asked for by health below a global prefix', async () => {
    await boot({ required: 'always', publicPaths: ['/api/login'] }, ['api']);
    const paths = ['/api', '/api/about', '/api/login', '/api/health/live', '/api/who', '/api/who/health'];
    expect(await statuses(paths)).toEqual({
      '/api': 400,
      '/api/about': 400,
      '/api/login': 200,
      '/api/health/live': 200,
      '/api/who': 400,
      '/api/who/health': 400,
    });
    expect(await statuses(['/api/who', '/api'], 'acme')).toEqual({ '/api/who': 200, '/api': 200 });
  });

  it('is asked for on routes outside the global prefix', async () => {
    await boot({ required: 'always' }, ['api', { exclude: ['about', 'health/live', 'who'] }]);
    expect(await statuses(['/about', '/who', '/health/live', '/api/login'])).toEqual({
      '/about': 400,
      '/who': 400,
      '/health/live': 200,
      '/api/login': 400,
    });
    expect(await statuses(['/about', '/who'], 'acme')).toEqual({ '/about': 200, '/who': 200 });
  });
});
