import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, UseGuards, ValidationPipe } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { CrossShard, InjectShardedRepository, ShardedRepository } from '@app/sharding';
import { freePort } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { Page, PageRepository, library, type Library } from './library.js';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { ClientTCP } from '@nestjs/microservices';
import type { CrossShardFanOut, CrossShardRepository, ShardingOptions } from '@app/sharding';

let made = 0;

@Injectable()
class Admins implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; admin?: boolean }>();
    request.admin = request.headers['x-admin'] === 'yes';
    return true;
  }
}

const isAdmin = (context: ExecutionContext | undefined) =>
  context?.getType() === 'rpc' || context?.switchToHttp().getRequest<{ admin?: boolean }>().admin === true;

@UseGuards(Admins)
@Controller('all')
class AllController {
  constructor(@InjectShardedRepository(Page) private readonly own: ShardedRepository<Page>) {
    made++;
  }

  @Get('pages')
  async pages(@CrossShard(Page) pages: CrossShardRepository<Page>) {
    const rows = await pages.find({ order: { slug: 'ASC' } });
    return rows.map(({ slug }) => slug);
  }

  @Get('popular')
  async popular(@CrossShard(PageRepository) pages: PopularPages) {
    return (await pages.mostViewed(2)).map(({ slug }) => slug);
  }

  @Get('shards')
  async shards(@CrossShard() everywhere: CrossShardFanOut) {
    const outcomes = await everywhere.each((reader) => reader.getRepository(Page).count());
    return outcomes.map(({ shard, ...end }) => [shard.name, end.ok && end.value]);
  }

  @Get('write')
  write(@CrossShard(Page) pages: CrossShardRepository<Page>) {
    return (pages as unknown as { delete(id: string): Promise<never> }).delete('1');
  }

  @Get('across')
  across() {
    return this.own.acrossTenants().count();
  }
}

@Controller()
class Messages {
  @MessagePattern('count')
  count(@CrossShard(Page) pages: CrossShardRepository<Page>) {
    return pages.count();
  }
}

type PopularPages = CrossShardRepository<Page> & Pick<PageRepository, 'mostViewed'>;

let place: Library | undefined;
afterEach(async () => {
  await place?.app.close();
  place = undefined;
});

/** One page of each of four tenants, two on each shard. */
async function boot(options: Partial<ShardingOptions> = { crossShardAccess: isAdmin }): Promise<string> {
  place = await library(2, options, { controllers: [AllController, Messages], providers: [Admins] });
  const pages = place.app.get(PageRepository);
  for (const [index, tenant] of ['acme', 'globex', 'initech', 'umbrella'].entries()) {
    await pages.for(tenant).insert({ slug: tenant, views: index });
  }
  return listen(place.app);
}

const ask = async (url: string, admin = 'yes') => {
  const answer = await fetch(url, { headers: { 'x-admin': admin } });
  return { status: answer.status, body: (await answer.json()) as { code?: string; message?: string } };
};

describe('reads across tenants', () => {
  it('need no tenant, and reach every shard', async () => {
    const url = await boot();
    expect(await ask(`${url}/all/pages`)).toEqual({
      status: 200,
      body: ['acme', 'globex', 'initech', 'umbrella'],
    });
    const shards = (await ask(`${url}/all/shards`)).body as unknown as [string, number][];
    expect(shards.map(([name]) => name)).toEqual(['shard0', 'shard1']);
    expect(shards.reduce((sum, [, count]) => sum + count, 0)).toBe(4);
  });

  it('offer the declared finders of a custom repository, and not the others', async () => {
    const url = await boot();
    expect(await ask(`${url}/all/popular`)).toEqual({ status: 200, body: ['umbrella', 'initech'] });
    expect(
      await place!.shards.runFor('acme', () => place!.app.get(PageRepository).mostViewed(2)),
    ).toMatchObject([{ slug: 'acme' }]);
  });

  it('write nothing, also by force', async () => {
    const url = await boot();
    expect(await ask(`${url}/all/write`)).toMatchObject({ status: 400, body: { code: 'cross_shard_write' } });
  });

  it('are for those whom crossShardAccess allows', async () => {
    const url = await boot();
    for (const path of ['pages', 'popular', 'shards', 'write']) {
      expect(await ask(`${url}/all/${path}`, 'no')).toMatchObject({
        status: 403,
        body: { code: 'cross_shard_denied' },
      });
    }
  });

  it('are closed without crossShardAccess, which the answer says', async () => {
    const url = await boot({});
    for (const path of ['pages', 'across']) {
      expect(await ask(`${url}/all/${path}`)).toEqual({
        status: 403,
        body: {
          statusCode: 403,
          code: 'cross_shard_denied',
          message: expect.stringContaining('set crossShardAccess: (context) => boolean'),
        },
      });
    }
  });

  it('by acrossTenants() ask without a context, and take no promise for an answer', async () => {
    const url = await boot({ crossShardAccess: (context) => context === undefined });
    expect(await ask(`${url}/all/across`)).toEqual({ status: 200, body: 4 });
    await place!.app.close();
    const closed = await boot({ crossShardAccess: async () => true });
    expect(await ask(`${closed}/all/across`)).toMatchObject({ status: 403 });
    expect(await ask(`${closed}/all/pages`)).toMatchObject({ status: 200 });
    expect(() => place!.app.get(PageRepository).for('acme').acrossTenants()).toThrow(
      expect.objectContaining({ code: 'invalid_options' }) as never,
    );
  });

  it('are not affected by a ValidationPipe that looks at every parameter', async () => {
    place = await library(
      2,
      { crossShardAccess: isAdmin },
      { controllers: [AllController], providers: [Admins] },
    );
    place.app.useGlobalPipes(
      new ValidationPipe({ validateCustomDecorators: true, transform: true, whitelist: true }),
    );
    const url = await listen(place.app);
    expect(await ask(`${url}/all/pages`)).toEqual({ status: 200, body: [] });
    expect((await ask(`${url}/all/shards`)).status).toBe(200);
  });

  it('leave the controller a singleton', async () => {
    made = 0;
    const url = await boot();
    for (let request = 0; request < 5; request++) await ask(`${url}/all/pages`);
    expect(made).toBe(1);
    expect(place!.app.get(ModuleRef).introspect(AllController).scope).toBe(0);
  });

  it('work in the handlers of a microservice', async () => {
    await boot();
    const options = { host: '127.0.0.1', port: await freePort() };
    place!.app.connectMicroservice({ transport: Transport.TCP, options });
    await place!.app.startAllMicroservices();
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options }) as ClientTCP;
    try {
      expect(await firstValueFrom(client.send('count', {}))).toBe(4);
    } finally {
      client.close();
    }
  });

  it('of an entity without a tenant column are refused', async () => {
    class Plain {}
    @Controller('plain')
    class PlainController {
      @Get()
      get(@CrossShard(Plain) plain: CrossShardRepository<Plain>) {
        return plain.count();
      }
    }
    place = await library(1, { crossShardAccess: () => true }, { controllers: [PlainController] });
    const { status, body } = await call(`${await listen(place.app)}/plain`);
    expect([status, (body as { code: string }).code]).toEqual([500, 'invalid_topology']);
  });
});
