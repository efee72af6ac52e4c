import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm';
import { InjectShardedRepository, ShardedEntity, ShardedRepository, ShardingModule } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { Page, PageRepository, library, type Library } from './library.js';
import type { ShardingOptions } from '@app/sharding';

let built = 0;

@Controller('pages')
class PagesController {
  constructor(
    @InjectShardedRepository(Page) private readonly pages: ShardedRepository<Page>,
    @Inject(PageRepository) private readonly custom: PageRepository,
  ) {
    built++;
  }

  @Get()
  async list() {
    const [all, popular] = await Promise.all([this.pages.find(), this.custom.popular(0)]);
    return { all: all.map(({ slug }) => slug), popular: popular.map(({ slug }) => slug) };
  }
}

let place: Library;
let pages: PageRepository;
let url: string;

beforeAll(async () => {
  place = await library(2, {}, { controllers: [PagesController] });
  pages = place.app.get(PageRepository);
  url = await listen(place.app);
});
beforeEach(async () => {
  for (const shard of [0, 1]) await place.query('truncate folders, pages restart identity', [], shard);
  for (const tenant of ['acme', 'globex']) await pages.for(tenant).insert({ slug: `of ${tenant}` });
});
afterAll(async () => {
  await place.app.close();
  for (const each of place.urls) await expectNoConnections(each);
});

const slugs = async (from: ShardedRepository<Page>) => (await from.find()).map(({ slug }) => slug);

describe('a repository', () => {
  it('is one object and routes each request by its tenant', async () => {
    for (const tenant of ['acme', 'globex', 'acme']) {
      const only = [`of ${tenant}`];
      expect(await call(`${url}/pages`, { tenant })).toMatchObject({ body: { all: only, popular: only } });
    }
    expect(await call(`${url}/pages`)).toMatchObject({ status: 400, body: { code: 'no_routing_key' } });
    expect(built).toBe(1);
  });

  it('outside of a context refuses every call, and a query builder when it runs', async () => {
    const query = pages.createQueryBuilder('p').where('p.views = 0');
    await expect(pages.find()).rejects.toMatchObject({ code: 'no_routing_key' });
    await expect(pages.insert({ slug: 'x' })).rejects.toMatchObject({ code: 'no_routing_key' });
    await expect(query.getMany()).rejects.toMatchObject({ code: 'no_routing_key' });
    for (const tenant of ['acme', 'globex']) {
      const found = await place.shards.runFor(tenant, () => query.getMany());
      expect(found.map(({ slug }) => slug)).toEqual([`of ${tenant}`]);
    }
  });

  it('goes where a key says, or to a given database', async () => {
    expect(await slugs(pages.for('globex'))).toEqual(['of globex']);
    const db = await place.shards.dbFor('acme');
    expect(await slugs(pages.on(db, 'acme'))).toEqual(['of acme']);
    expect(await slugs(pages.on(db, 'globex'))).toEqual([]);
    expect(await place.shards.runFor('acme', (own) => slugs(pages.on(own)))).toEqual(['of acme']);
    await expect(pages.on(db).find()).rejects.toMatchObject({ code: 'no_routing_key' });
    expect(pages.for('acme')).toBeInstanceOf(PageRepository);
    for (const bytes of [new Uint8Array([1])]) {
      await expect(pages.for(bytes).find()).rejects.toMatchObject({ code: 'no_routing_key' });
    }
  });

  it('reads and writes inside a transaction are part of it', async () => {
    const failed = place.shards.runFor('acme', (db) =>
      db.tx(async (tx) => {
        await pages.insert({ slug: 'inside' });
        await pages.on(tx).save({ slug: 'saved' });
        expect(await slugs(pages)).toEqual(['of acme', 'inside', 'saved']);
        expect(await slugs(pages.on(tx))).toHaveLength(3);
        expect(await pages.createQueryBuilder('p').getCount()).toBe(3);
        throw new Error('roll it back');
      }),
    );
    await expect(failed).rejects.toThrow('roll it back');
    expect(await slugs(pages.for('acme'))).toEqual(['of acme']);
  });

  it('of another shard is refused inside a transaction, before anything is sent', async () => {
    const uses: (() => Promise<unknown>)[] = [
      () => pages.for('globex').find(),
      () => pages.for('globex').insert({ slug: 'x' }),
      () => pages.for('globex').createQueryBuilder('p').getMany(),
      () => pages.for('globex').save({ id: '1', slug: 'x' }),
    ];
    for (const use of uses) {
      const work = place.shards.runFor('acme', (db) => db.tx(use));
      await expect(work).rejects.toMatchObject({ code: 'cross_shard_transaction', status: 400 });
    }
    expect(await slugs(pages.for('globex'))).toEqual(['of globex']);
  });
});

describe('forFeature', () => {
  @Entity('plain')
  class Plain {
    @PrimaryGeneratedColumn()
    id!: number;
  }

  @ShardedEntity({ tenantColumn: 'nothing' })
  @Entity('misnamed')
  class Misnamed {
    @PrimaryGeneratedColumn()
    id!: number;
  }

  @ShardedEntity({ tenantColumn: 'tenantId' })
  @Entity('lazy')
  class Lazy {
    @PrimaryGeneratedColumn()
    id!: number;

    @Column()
    tenantId!: string;

    @ManyToOne(() => Lazy, { lazy: true })
    parent!: Promise<Lazy>;
  }

  async function boot(entity: never, entities: never[]): Promise<void> {
    const sharding: ShardingOptions = {
      database: { shards: [{ name: 'shard0', primaryUrl: place.urls[0]! }] },
      entities,
    };
    @Module({ imports: [ShardingModule.forRoot(sharding), ShardingModule.forFeature([entity])] })
    class Root {}
    const app = await NestFactory.create(Root, { logger: false, abortOnError: false });
    await app.close();
  }

  it.each([
    [Plain, [Plain], /Plain has no tenant column: decorate it with @ShardedEntity/],
    [Misnamed, [Misnamed], /Misnamed\.nothing is not a column/],
    [Lazy, [Lazy], /Lazy\.parent: a lazy relation would be loaded past the tenant/],
    [Page, [], /Page is not among the entities of the shards: add it to "entities"/],
  ])('refuses %p at boot', async (entity, entities, message) => {
    await expect(boot(entity as never, entities as never[])).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringMatching(message),
    });
  });
});
