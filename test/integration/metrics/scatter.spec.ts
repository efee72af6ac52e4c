import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import {
  CrossShard,
  InjectShardedRepository,
  ShardedEntity,
  ShardingModule,
  Shards,
  type CrossShardFanOut,
  type CrossShardRepository,
  type ShardedRepository,
  type ShardingOptions,
} from '@app/sharding';
import { deployment } from '../../support/deployment.js';
import { bootMetrics, type Adapter } from './metrics-app.js';
import { scrape, select } from './samples.js';
import type { INestApplication } from '@nestjs/common';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('notes')
class Memo {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  body!: string;
}

const READS: Record<string, (memos: CrossShardRepository<Memo>) => unknown> = {
  find: (memos) => memos.find({ order: { body: 'ASC' }, take: 3 }),
  page: (memos) => memos.page({ take: 3 }),
  count: (memos) => memos.count(),
  exists: (memos) => memos.exists(),
  groupBy: (memos) => memos.groupBy(['tenantId'], { memos: { count: '*' } }),
  partial: (memos) => memos.find({ shards: 'partial' }),
  stream: async (memos) => {
    const rows = [];
    for await (const row of memos.stream()) rows.push(row);
    return rows;
  },
};

@Controller('all')
class AllController {
  constructor(
    @Inject(Shards) private readonly shards: Shards,
    @InjectShardedRepository(Memo) private readonly own: ShardedRepository<Memo>,
  ) {}

  @Get('reads/:name')
  async reads(@CrossShard(Memo) memos: CrossShardRepository<Memo>, @Param('name') name: string) {
    return { read: await READS[name]?.(memos) };
  }

  @Get('readers')
  async readers(@CrossShard() everywhere: CrossShardFanOut) {
    return (await everywhere.each((reader) => reader.getRepository(Memo).count())).map(({ ok }) => ok);
  }

  @Get('across')
  async across() {
    return { memos: await this.own.acrossTenants().count() };
  }

  @Get('behind')
  async behind() {
    const own = await this.own.count();
    return { own, all: await this.own.acrossTenants().count() };
  }

  @Get('within/:key')
  async within(@Param('key') key: string) {
    return { memos: await this.shards.runFor(key, () => this.own.acrossTenants().count()) };
  }
}

const METRIC = 'http_server_request_duration_seconds_count';

describe.each<Adapter>(['express', 'fastify'])(
  'the shard of a request that reads all shards, under %s',
  (adapter) => {
    let app: INestApplication;
    let url: string;

    afterEach(() => app.close());

    const boot = async (shards: number, options: Partial<ShardingOptions> = {}) => {
      const databases = await deployment(shards);
      const sharding = {
        ...databases.options(),
        crossShardAccess: () => true,
        ...options,
        entities: [Memo],
      };
      const parts = { controllers: [AllController], imports: [ShardingModule.forFeature([Memo])] };
      ({ app, url } = await bootMetrics(sharding, adapter, parts));
    };
    const get = async (path: string) => {
      const { status } = await fetch(`${url}/all/${path}`, { headers: { 'x-tenant-id': 'acme' } });
      return status;
    };
    /** `/route status shard times` of each series, in the order of their first request. */
    const counted = async () =>
      select(await scrape(url), METRIC)
        .filter(({ labels }) => labels['route'] !== '/metrics')
        .map(({ labels: { route, status, shard }, value }) => `${route} ${status} ${shard} ${value}`);

    it('is "several", whatever is read and from where', async () => {
      await boot(2);
      for (const name of Object.keys(READS)) expect([name, await get(`reads/${name}`)]).toEqual([name, 200]);
      for (const path of ['readers', 'across', 'behind', 'within/globex']) {
        expect([path, await get(path)]).toEqual([path, 200]);
      }
      expect(await counted()).toEqual([
        `/all/reads/:name 200 several ${Object.keys(READS).length}`,
        '/all/readers 200 several 1',
        '/all/across 200 several 1',
        '/all/behind 200 several 1',
        '/all/within/:key 200 several 1',
      ]);
    });

    it('is counted beside the entity, the method and how the read ended', async () => {
      await boot(2);
      for (const path of ['reads/find', 'reads/partial', 'reads/stream', 'across']) await get(path);
      await app.get(Shards).named('shard1').database.close(0);
      for (const path of ['reads/find', 'reads/partial']) await get(path);
      const ends = select(await scrape(url), 'sharding_scatters_total').map(
        ({ labels: { entity, method, outcome }, value }) => `${entity}.${method} ${outcome} ${value}`,
      );
      expect(ends).toEqual([
        'Memo.find ok 2',
        'Memo.stream ok 1',
        'Memo.count ok 1',
        'Memo.find shard_unavailable 1',
        'Memo.find partial 1',
      ]);
    });

    it('is the only one of a deployment', async () => {
      await boot(1);
      for (const path of ['reads/find', 'readers']) expect(await get(path)).toBe(200);
      expect(await counted()).toEqual(['/all/reads/:name 200 shard0 1', '/all/readers 200 shard0 1']);
    });

    it('is none where the read is refused before any shard is asked', async () => {
      await boot(2, { crossShardAccess: () => false });
      for (const path of ['reads/find', 'readers', 'across']) expect(await get(path)).toBe(403);
      expect(await counted()).toEqual([
        '/all/reads/:name 403 none 1',
        '/all/readers 403 none 1',
        '/all/across 403 none 1',
      ]);
    });
  },
);
