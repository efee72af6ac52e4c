import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ShardedEntity } from '@app/sharding';

/** How many bookmarks of a tenant have a tag; computed by a job. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('tag_counts')
export class TagCount {
  @PrimaryColumn({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @PrimaryColumn({ type: 'text' })
  tag!: string;

  @Column({ type: 'int' })
  bookmarks!: number;
}
