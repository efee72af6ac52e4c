import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ShardedEntity, shardedRepositoryToken, ShardingModule, type ShardedRepository } from '@app/sharding';
import { ENTITIES, type Bank } from './bank.js';

/** Its id is any text. */
@ShardedEntity({ tenantColumn: 'country' })
@Entity('customers')
export class Plain {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  country!: string;
}

export async function boot(bank: Bank): Promise<ShardedRepository<Plain>> {
  const imports = [ShardingModule.forFeature([Plain])];
  const entities = [...ENTITIES.filter(({ name }) => name !== 'Customer'), Plain];
  const app = await bank.boot({ entities }, { imports, features: [] });
  return app.get(shardedRepositoryToken(Plain));
}
