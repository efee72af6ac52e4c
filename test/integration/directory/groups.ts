import { ShardedEntity } from '@app/sharding';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { Placed } from './placed.js';
import type { GroupOf } from '@app/routing';
import type { DatabaseOptions } from '@app/sharding';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('notes')
export class TenantNote {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  body!: string;
}

/** Says group 7 of `eu-...`, group 9 of `mx-...`, and nothing of all others. */
export const byPrefix: GroupOf = (key) => {
  const [prefix = ''] = String(key).split('-');
  return { eu: 7, mx: 9 }[prefix];
};

/** Databases with a directory: shard0 and shard1 in group 0, eu0 in group 7, and mx0 in group 9 where there are three. */
export class Grouped {
  private constructor(
    readonly placed: Placed,
    private readonly groups: 2 | 3,
  ) {}

  static async create(groups: 2 | 3): Promise<Grouped> {
    return new Grouped(await Placed.create(groups + 1), groups);
  }

  database(): DatabaseOptions {
    const [shard0 = '', shard1 = '', eu0 = '', mx0 = ''] = this.placed.databases.shards;
    const shards = [
      { name: 'shard0', primaryUrl: shard0 },
      { name: 'shard1', primaryUrl: shard1 },
      { name: 'eu0', primaryUrl: eu0, group: 7 },
      { name: 'mx0', primaryUrl: mx0, group: 9 },
    ];
    return { directoryShardRouter: true, shards: shards.slice(0, this.groups + 1) };
  }
}
