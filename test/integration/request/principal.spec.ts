import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module, Query, UseGuards } from '@nestjs/common';
import request from 'supertest';
import { ShardedDb, Shards, setRoutingKey } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { bootApp, deployment, type Deployment } from '../../support/deployment.js';
import { CurrentController, NotesController, WhoController } from './tenant-app.js';
import type {
  CanActivate,
  ExecutionContext,
  INestApplication,
  MiddlewareConsumer,
  NestModule,
} from '@nestjs/common';
import type { Request } from 'express';

/** Threat S1, the confused deputy: who is logged in is one thing, the tenant that a request names is another. */
type LoggedIn = Request & { principal?: string };

/** Stands for the authentication of an application, in middleware or in a guard. */
function logIn(from: LoggedIn, header: string): true {
  const login = from.get(header);
  if (login !== undefined) from.principal = login;
  return true;
}

@Module({})
class LoginModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((from: LoggedIn, _response: unknown, next: () => void) => {
        logIn(from, 'x-login');
        const acting = from.get('x-support-acts-for');
        if (acting !== undefined && from.principal === 'support') setRoutingKey(from, acting);
        next();
      })
      .forRoutes('{*path}');
  }
}

@Injectable()
class LoginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return logIn(context.switchToHttp().getRequest<LoggedIn>(), 'x-guarded-login');
  }
}

@Injectable()
class RoutingGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const from = context.switchToHttp().getRequest<LoggedIn>();
    from.principal = 'acme';
    setRoutingKey(from, 'globex');
    return true;
  }
}

@Controller('guarded')
class GuardedController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  @UseGuards(LoginGuard)
  async guarded(): Promise<object> {
    return { shard: (await this.shards.current()).shard.name };
  }

  @Get('rerouted')
  @UseGuards(RoutingGuard)
  async rerouted(): Promise<object> {
    return { shard: (await this.shards.current()).shard.name };
  }
}

@Controller('scoped')
class ScopedController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get('guarded')
  @UseGuards(LoginGuard)
  guarded(): object {
    return { shard: this.db.shard.name };
  }

  @Get('rerouted')
  @UseGuards(RoutingGuard)
  rerouted(): object {
    return { shard: this.db.shard.name };
  }

  @Get('query')
  queried(@Query() query: object): object {
    return { shard: this.db.shard.name, query };
  }
}

let databases: Deployment;
let app: INestApplication;

beforeAll(async () => {
  databases = await deployment(2);
  app = await bootApp(
    {
      ...databases.options(),
      tenancy: { principalTenant: (from) => (from as LoggedIn).principal },
      health: false,
    },
    {
      imports: [LoginModule],
      controllers: [NotesController, CurrentController, WhoController, GuardedController, ScopedController],
    },
  );
});

afterAll(async () => {
  await app.close();
  for (const url of databases.shards) await expectNoConnections(url);
});

const get = (path: string, headers: Record<string, string>) =>
  request(app.getHttpServer()).get(path).set('x-tenant-id', 'acme').set(headers);

const forbidden = (reason: string) => ({
  statusCode: 403,
  code: 'cross_tenant',
  message: `the principal may not act for the tenant of the request: ${reason}`,
});
const FOREIGN = forbidden('it belongs to another tenant');
const UNKNOWN = forbidden(
  'nobody is authenticated yet: authenticate in middleware, or route after the guard with Shards.current(request)',
);

// the first tests of this file: nothing has been opened yet
describe('a principal of another tenant', () => {
  it.each(['/notes', '/current', '/who', '/scoped/query'])(
    'is refused before any checkout: %s',
    async (path) => {
      const answer = await get(path, { 'x-login': 'globex' }).expect(403);
      expect(answer.body).toEqual(FOREIGN);
      const pools = app
        .get(Shards)
        .all()
        .map((shard) => shard.stats());
      expect(pools).toEqual([0, 1].map(() => ({ max: 4, active: 0, idle: 0, waiting: 0 })));
      for (const url of databases.shards) await expectNoConnections(url);
    },
  );

  it('is refused when it writes, and nothing is written', async () => {
    const answer = await request(app.getHttpServer())
      .post('/notes')
      .set({ 'x-tenant-id': 'acme', 'x-login': 'globex' })
      .send({ body: 'stolen' })
      .expect(403);
    expect(answer.body).toEqual(FOREIGN);
    for (const shard of [0, 1]) expect(await databases.query(shard, 'select body from notes')).toEqual([]);
  });

  it('is refused when nobody is known at all', async () => {
    expect((await get('/notes', {}).expect(403)).body).toEqual(UNKNOWN);
  });
});

describe('a principal of the same tenant', () => {
  it.each(['/notes', '/current'])('is served: %s', async (path) => {
    const answer = await get(path, { 'x-login': 'acme' }).expect(200);
    expect(answer.body).toEqual({ tenant: 'acme', shard: 'shard0', notes: [] });
  });
});

describe('a principal that only a guard knows', () => {
  it('is too late for ShardedDb, which is routed before guards', async () => {
    expect((await get('/scoped/guarded', { 'x-guarded-login': 'acme' }).expect(403)).body).toEqual(UNKNOWN);
  });

  it('is in time for Shards.current() in the handler', async () => {
    const answer = await get('/guarded', { 'x-guarded-login': 'acme' }).expect(200);
    expect(answer.body).toEqual({ shard: 'shard0' });
    expect((await get('/guarded', { 'x-guarded-login': 'globex' }).expect(403)).body).toEqual(FOREIGN);
    expect((await get('/guarded', {}).expect(403)).body).toEqual(UNKNOWN);
  });
});

describe('the routing key', () => {
  const injected = {
    override: 'globex',
    routingKey: 'globex',
    tenant: 'globex',
    'nestjs-sharding.routing-store': { override: 'globex' },
  };

  it.each<[string, Record<string, string>, object]>([
    ['a header', { 'routing-key': 'globex', 'x-routing-key': 'globex', override: 'globex' }, {}],
    ['a header named __proto__', JSON.parse('{"__proto__":"globex"}') as Record<string, string>, {}],
    ['the body', {}, injected],
    ['a body with __proto__', {}, JSON.parse('{"__proto__":{"override":"globex","fixed":true}}') as object],
    ['a body with constructor', {}, { constructor: { prototype: { override: 'globex' } } }],
  ])('is not changed by %s', async (_what, headers, body) => {
    const answer = await request(app.getHttpServer())
      .post('/notes')
      .set({ 'x-tenant-id': 'acme', 'x-login': 'acme', 'content-type': 'application/json', ...headers })
      .send(JSON.stringify(Object.defineProperties({ body: 'x' }, Object.getOwnPropertyDescriptors(body))))
      .expect(201);
    expect(answer.body).toEqual({ shard: 'shard0' });
    expect(await databases.query(1, 'select body from notes')).toEqual([]);
  });

  it.each([
    'override=globex',
    'x-tenant-id=globex',
    '__proto__[override]=globex',
    'constructor.prototype.override=globex',
  ])('is not changed by the query: %s', async (query) => {
    const answer = await get(`/scoped/query?${query}`, { 'x-login': 'acme' }).expect(200);
    expect(answer.body).toMatchObject({ shard: 'shard0' });
  });

  it('is what server code says, against the tenant', async () => {
    const headers = { 'x-login': 'support', 'x-support-acts-for': 'globex' };
    expect((await get('/scoped/query', headers).expect(200)).body).toMatchObject({ shard: 'shard1' });
    expect((await get('/guarded', headers).expect(200)).body).toEqual({ shard: 'shard1' });
    expect((await get('/guarded/rerouted', {}).expect(200)).body).toEqual({ shard: 'shard1' });
  });

  it('is not what a client says in the same words without the right', async () => {
    const headers = { 'x-login': 'acme', 'x-support-acts-for': 'globex' };
    expect((await get('/scoped/query', headers).expect(200)).body).toMatchObject({ shard: 'shard0' });
  });

  it('cannot be changed by a guard once ShardedDb is routed', async () => {
    const answer = await get('/scoped/rerouted', { 'x-login': 'acme' }).expect(500);
    expect(answer.body).toEqual({
      statusCode: 500,
      code: 'routing_key_fixed',
      message: 'the request is already routed: call setRoutingKey before the first use of a shard',
    });
  });
});
