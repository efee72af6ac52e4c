import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { DirectoryConnection, ShardedEntity, Shards, scatterRepository } from '@app/sharding';
import { slotOf } from '@app/routing';
import { waitFor } from '@test/support';
import { bootApp } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { CrossShardRepository, ShardingOptions } from '@app/sharding';
import type { MovingFleet } from '../../support/moving-fleet.js';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('bookmarks')
export class Bookmark {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  url!: string;
}

/** An application over a fleet that moves, and its reads of all shards. */
export class Scattered {
  private constructor(
    readonly app: INestApplication,
    readonly repo: CrossShardRepository<Bookmark>,
  ) {}

  static async boot(options: ShardingOptions): Promise<Scattered> {
    const app = await bootApp({ ...options, entities: [Bookmark] });
    return new Scattered(app, scatterRepository(Bookmark, { shards: app.get(Shards) }));
  }

  /** All that is counted, found, summed up and streamed; one answer differs where a row is there twice, or not at all. */
  async answers(): Promise<object> {
    const { repo } = this;
    const streamed: string[] = [];
    for await (const { id } of repo.stream({ batchSize: 7 })) streamed.push(id);
    return {
      count: await repo.count(),
      sum: await repo.sum('id'),
      found: (await repo.find()).map(({ id, tenantId }) => `${tenantId} ${id}`),
      tenants: await repo.groupBy(['tenantId'], { n: { count: '*' } }),
      page: (await repo.page({ take: 1000 })).rows.map(({ id }) => id),
      streamed,
    };
  }

  /** Whether one of its shards leaves rows out. */
  async leavesOut(): Promise<boolean> {
    return (await this.repo.explain()).shards.some(({ sql }) => sql.includes('is not true'));
  }

  /** It routes by what the control database says now. */
  async settled(fleet: MovingFleet): Promise<void> {
    const [row] = await fleet.query('control', 'select revision from _sharding_revision');
    const known = async () =>
      this.app
        .get(DirectoryConnection)
        .opened.every(({ directory }) => directory.revision >= Number(row?.['revision']));
    await waitFor(known, { what: 'the application to know the newest revision' });
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

/** Twenty rows of each tenant; ids of one shard are those of no other. */
export async function fill(fleet: MovingFleet, tenants: readonly string[], place = 0): Promise<void> {
  await fleet.query(
    place,
    `insert into bookmarks (id, tenant_id, url)
      select $2 + 1000 * t.ordinality + n, t.tenant, 'u' || n
      from unnest($1::text[]) with ordinality t (tenant, ordinality), generate_series(1, 20) n`,
    [tenants, 1_000_000 * place],
  );
}

/** Tenants of the lower half of the slots, which shard0 owns, and of the upper one. */
export const [lower, upper] = [0, 1].map((half) =>
  Array.from({ length: 60 }, (_, index) => `tenant-${index}`).filter((key) => slotOf(key) >> 13 === half),
) as [string[], string[]];

/** So many other keys of the slot of a key. */
export function companions(key: string, count: number): string[] {
  const found: string[] = [];
  for (let n = 0; found.length < count; n++) {
    if (slotOf(`other-${n}`) === slotOf(key)) found.push(`other-${n}`);
  }
  return found;
}
