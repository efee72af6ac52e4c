import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Module } from '@nestjs/common';
import request from 'supertest';
import { ShardedDb, Shards, setRoutingKey } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { bootApp, deployment, type Deployment } from '../../support/deployment.js';
import { WhoController } from './tenant-app.js';
import type { INestApplication, MiddlewareConsumer, NestModule } from '@nestjs/common';
import type { Request } from 'express';

/** An application that knows its keys itself: each path names an account by number. */
@Module({})
class AccountModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((from: Request, _response: unknown, next: () => void) => {
        setRoutingKey(from, Number(from.originalUrl.split('/').at(-1)));
        next();
      })
      .forRoutes('accounts/*path');
  }
}

@Controller('accounts')
class AccountController {
  constructor(
    @Inject(ShardedDb) private readonly db: ShardedDb,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  @Get(':id')
  async account(): Promise<object> {
    const current = await this.shards.current();
    return { scoped: this.db.shard.name, current: current.shard.name };
  }
}

@Controller('plain')
class PlainController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get()
  plain(): string {
    return this.db.shard.name;
  }
}

let databases: Deployment;
let app: INestApplication;

beforeAll(async () => {
  databases = await deployment(2);
  const { database } = databases.options();
  app = await bootApp(
    { database, health: false },
    { imports: [AccountModule], controllers: [AccountController, PlainController, WhoController] },
  );
});

afterAll(async () => {
  await app.close();
  for (const url of databases.shards) await expectNoConnections(url);
});

const get = (path: string) => request(app.getHttpServer()).get(path).set('x-tenant-id', 'acme');

describe('without tenancy', () => {
  it('requests are routed by setRoutingKey', async () => {
    const { topology } = app.get(Shards);
    const accounts = [1, 2, 3, 4, 5, 6, 7, 8];
    const owners = accounts.map((id) => topology.shardOf(id).name);
    expect(new Set(owners).size).toBe(2);
    for (const [index, id] of accounts.entries()) {
      const owner = owners[index];
      expect((await get(`/accounts/${id}`).expect(200)).body).toEqual({ scoped: owner, current: owner });
    }
  });

  it('a key that is none is refused', async () => {
    expect((await get('/accounts/1.5').expect(400)).body).toEqual({
      statusCode: 400,
      code: 'invalid_routing_key',
      message:
        'a routing key is a string, a safe integer, a bigint of 64 signed bits or a Uint8Array; got a number with a fraction',
    });
  });

  it.each(['/plain', '/who'])('nothing else routes a request, whatever it sends: %s', async (path) => {
    expect((await get(path).expect(400)).body).toEqual({
      statusCode: 400,
      code: 'no_routing_key',
      message:
        'no routing key: configure [tenancy], call setRoutingKey(request, key), or use Shards.dbFor(key)',
    });
  });
});
