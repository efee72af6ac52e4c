import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get, Headers, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory, REQUEST } from '@nestjs/core';
import { DataSource, Repository } from 'typeorm';
import { ShardedDb, ShardingModule, Shards, Tenant } from '@app/sharding';
import { Link, POOL_SIZE } from './link.entity.js';
import type { INestApplication, Type } from '@nestjs/common';

/**
 * The four services that `bench:request` compares: the same query on the same database, pools of the same size.
 * The last two are (a) and (b) with nothing but an AsyncLocalStorage around each request: what Node itself takes for it.
 */
export type Variant =
  | 'plain'
  | 'request-scoped'
  | 'ShardedDb'
  | 'Shards'
  | 'Shards with metrics'
  | 'plain in ALS'
  | 'request-scoped in ALS';

const dataSource = (url: string) =>
  new DataSource({
    type: 'postgres',
    url,
    entities: [Link],
    poolSize: POOL_SIZE,
    connectTimeoutMS: 5000,
  }).initialize();

/** (a) A singleton with a TypeORM repository of one database. */
async function plain([url = '']: readonly string[]): Promise<Type> {
  const source = await dataSource(url);
  @Controller('links')
  class Links {
    constructor(@Inject(Repository) private readonly links: Repository<Link>) {}
    @Get()
    list(@Headers('x-tenant-id') tenantId: string): Promise<Link[]> {
      return this.links.findBy({ tenantId });
    }
  }
  @Module({
    controllers: [Links],
    providers: [{ provide: Repository, useValue: source.getRepository(Link) }],
  })
  class Plain {}
  return Plain;
}

/** (b) What people write by hand: a map of DataSources and a request-scoped provider that picks one. */
async function requestScoped(urls: readonly string[]): Promise<Type> {
  const sources = await Promise.all(urls.map(dataSource));
  @Injectable({ scope: Scope.REQUEST })
  class TenantDatabase {
    readonly source: DataSource;
    constructor(@Inject(REQUEST) request: { headers: Record<string, string> }) {
      const tenant = request.headers['x-tenant-id'] ?? '';
      let hash = 0;
      for (let index = 0; index < tenant.length; index++) hash = (hash * 31 + tenant.charCodeAt(index)) | 0;
      this.source = sources[Math.abs(hash) % sources.length] as DataSource;
    }
  }
  @Controller('links')
  class Links {
    constructor(@Inject(TenantDatabase) private readonly database: TenantDatabase) {}
    @Get()
    list(@Headers('x-tenant-id') tenantId: string): Promise<Link[]> {
      return this.database.source.getRepository(Link).findBy({ tenantId });
    }
  }
  @Module({ controllers: [Links], providers: [TenantDatabase] })
  class ByHand {}
  return ByHand;
}

/** @param metrics by default on where prom-client is installed; the baselines measure nothing */
function sharded(urls: readonly string[], controller: Type, metrics: false | object = false): Type {
  const shards = urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl }));
  @Module({
    imports: [
      ShardingModule.forRoot({
        database: { shards, poolSize: POOL_SIZE },
        tenancy: { source: 'header' },
        entities: [Link],
        health: false,
        ...(metrics === false && { metrics: false as const, traces: 'off' as const }),
      }),
    ],
    controllers: [controller],
  })
  class Sharded {}
  return Sharded;
}

/** (c) */
@Controller('links')
class ShardedDbLinks {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}
  @Get()
  list(@Tenant() tenantId: string): Promise<Link[]> {
    return this.db.getRepository(Link).findBy({ tenantId });
  }
}

/** (d) */
@Controller('links')
class ShardsLinks {
  constructor(@Inject(Shards) private readonly shards: Shards) {}
  @Get()
  async list(@Tenant() tenantId: string): Promise<Link[]> {
    return (await this.shards.current()).getRepository(Link).findBy({ tenantId });
  }
}

/** One listening service. */
export async function startVariant(variant: Variant, urls: readonly string[]): Promise<INestApplication> {
  const modules: Record<Variant, () => Promise<Type> | Type> = {
    plain: () => plain(urls),
    'request-scoped': () => requestScoped(urls),
    ShardedDb: () => sharded(urls, ShardedDbLinks),
    Shards: () => sharded(urls, ShardsLinks),
    'Shards with metrics': () => sharded(urls, ShardsLinks, {}),
    'plain in ALS': () => plain(urls),
    'request-scoped in ALS': () => requestScoped(urls),
  };
  const app = await NestFactory.create(await modules[variant](), { logger: ['error'] });
  if (variant.endsWith('in ALS')) {
    const storage = new AsyncLocalStorage<object>();
    app.use((_request: unknown, _response: unknown, next: () => void) => storage.run({}, next));
  }
  await app.listen(0, '127.0.0.1');
  return app;
}
