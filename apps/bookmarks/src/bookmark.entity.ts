import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { ShardedEntity } from '@app/sharding';

/** A saved link. Several tenants share a shard: repositories filter by `tenantId`. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('bookmarks')
export class Bookmark {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: string;

  @Index('bookmarks_tenant_id')
  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  url!: string;

  @Column({ type: 'varchar', length: 200 })
  title!: string;

  @Index('bookmarks_tag')
  @Column({ type: 'text', default: '' })
  tag!: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}
