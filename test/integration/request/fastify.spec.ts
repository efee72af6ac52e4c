import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ShardedDb, ShardingModule, Shards, Tenant, setRoutingKey } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { deployment, listen, type Deployment } from '../../support/deployment.js';
import { sendRaw } from './raw-request.js';
import { CurrentController, NotesController, WhoController } from './tenant-app.js';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { TenancyOptions } from '@app/sharding';

interface LoggedIn {
  headers: Record<string, string | undefined>;
  principal?: string;
}

@Injectable()
class LoginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const from = context.switchToHttp().getRequest<LoggedIn>();
    const { 'x-guarded-login': login, 'x-act-for': key } = from.headers;
    if (login !== undefined) from.principal = login;
    if (key !== undefined) setRoutingKey(from, key);
    return true;
  }
}

@Controller('guarded')
@UseGuards(LoginGuard)
class GuardedController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  async byTenant(@Tenant() tenant: string): Promise<object> {
    return { tenant, shard: (await this.shards.current()).shard.name };
  }

  @Get('request')
  async byRequest(@Req() from: object): Promise<object> {
    return { shard: (await this.shards.current(from)).shard.name };
  }
}

@Controller('plain')
class PlainController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get()
  plain(): object {
    return { shard: this.db.shard.name };
  }
}

let databases: Deployment;
let app: NestFastifyApplication;
let url: string;

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(async () => {
  await app.close();
  for (const database of databases.shards) await expectNoConnections(database);
});

async function boot(tenancy: TenancyOptions = {}, adapter = new FastifyAdapter()): Promise<void> {
  const { database, entities } = databases.options();
  @Module({
    imports: [ShardingModule.forRoot({ database, tenancy, entities })],
    controllers: [WhoController, NotesController, CurrentController, GuardedController, PlainController],
  })
  class TestModule {}
  app = await NestFactory.create<NestFastifyApplication>(TestModule, adapter, {
    logger: false,
    abortOnError: false,
  });
  url = await listen(app);
}

const get = (path: string, ...headers: string[]) =>
  sendRaw(url, [
    `GET ${path} HTTP/1.1`,
    ...(headers.some((line) => /^host:/i.test(line)) ? [] : ['Host: localhost']),
    ...headers,
  ]);
const post = (path: string, tenant: string, body: string) => {
  const head = [`x-tenant-id: ${tenant}`, 'content-type: application/json', `content-length: ${body.length}`];
  return sendRaw(url, [`POST ${path} HTTP/1.1`, 'Host: localhost', ...head], body);
};
const refused = (statusCode: number, code: string, message: unknown) => ({
  status: statusCode,
  body: { statusCode, code, message },
});
const MISSING = refused(400, 'no_routing_key', 'the request names no tenant: send the x-tenant-id header');

describe('on Fastify', () => {
  it('a tenant in the header reaches its shard, by ShardedDb and by Shards', async () => {
    await boot();
    for (const [tenant, shard] of [
      ['acme', 'shard0'],
      ['globex', 'shard1'],
    ] as const) {
      expect(await post('/notes', tenant, '{"body":"hello"}')).toEqual({ status: 201, body: { shard } });
      const expected = { status: 200, body: { tenant, shard, notes: ['hello'] } };
      expect(await get('/notes', `x-tenant-id: ${tenant}`)).toEqual(expected);
      expect(await get('/current', `X-Tenant-Id: ${tenant}`)).toEqual(expected);
    }
  });

  it('a tenant is read as on Express: UTF-8, once, within its limit', async () => {
    await boot();
    expect(await get('/who', 'x-tenant-id: münchen🏢')).toEqual({
      status: 200,
      body: { tenant: 'münchen🏢' },
    });
    expect(await get('/who')).toEqual(MISSING);
    const twice = ['x-tenant-id: acme', 'X-Tenant-Id: globex'];
    expect(await get('/who', ...twice)).toMatchObject({ status: 400, body: { code: 'invalid_tenant' } });
    expect(await get('/who', `x-tenant-id: ${'x'.repeat(256)}`)).toEqual(
      refused(400, 'invalid_tenant', 'the tenant of the request must have at most 255 bytes'),
    );
  });

  it('a missing tenant is refused on every path but the public ones and health', async () => {
    await boot({ required: 'always', publicPaths: ['/plain'] });
    expect(await get('/nowhere')).toEqual(MISSING);
    expect(await get('/who?x')).toEqual(MISSING);
    expect(await get('/plain')).toEqual(MISSING); // public, but it uses a shard
    expect((await get('/health/live')).status).toBe(200);
    expect((await get('/health')).status).toBe(200);
    expect(await get('/who', 'x-tenant-id: acme')).toEqual({ status: 200, body: { tenant: 'acme' } });
  });

  it('a principal that a guard sets on the request is seen', async () => {
    await boot({ principalTenant: (from) => (from as LoggedIn).principal });
    const asAcme = ['x-tenant-id: acme', 'x-guarded-login: acme'];
    expect(await get('/guarded', ...asAcme)).toEqual({
      status: 200,
      body: { tenant: 'acme', shard: 'shard0' },
    });
    expect(await get('/guarded/request', ...asAcme)).toEqual({ status: 200, body: { shard: 'shard0' } });
    expect(await get('/guarded', 'x-tenant-id: globex', 'x-guarded-login: acme')).toEqual(
      refused(403, 'cross_tenant', expect.stringContaining('it belongs to another tenant')),
    );
    expect(await get('/guarded', 'x-tenant-id: acme')).toEqual(
      refused(403, 'cross_tenant', expect.stringContaining('nobody is authenticated yet')),
    );
  });

  it('setRoutingKey in a guard wins over the tenant', async () => {
    await boot();
    expect(await get('/guarded/request', 'x-tenant-id: acme', 'x-act-for: globex')).toEqual({
      status: 200,
      body: { shard: 'shard1' },
    });
  });

  it.each(['on_use', 'always'] as const)(
    'a host is the one that the framework trusts, required %s',
    async (required) => {
      const subdomain = { source: 'subdomain' as const, baseDomain: 'example.com', required };
      const headers = ['Host: acme.example.com:3000', 'X-Forwarded-Host: globex.example.com'];
      await boot(subdomain);
      expect(await get('/plain', ...headers)).toEqual({ status: 200, body: { shard: 'shard0' } });
      expect(await get('/who', 'Host: [::1]:3000')).toEqual(
        refused(400, 'invalid_tenant', 'the tenant of the request cannot be read from an IP address as host'),
      );
      await app.close();
      await boot(subdomain, new FastifyAdapter({ trustProxy: true }));
      expect(await get('/plain', ...headers)).toEqual({ status: 200, body: { shard: 'shard1' } });
      expect(await get('/who', ...headers)).toEqual({ status: 200, body: { tenant: 'globex' } });
    },
  );
});
