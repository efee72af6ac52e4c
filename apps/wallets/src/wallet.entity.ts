import { Column, Entity, VersionColumn } from 'typeorm';
import { ShardedEntity, ShardedId } from '@app/sharding';
import { EmbeddedBitsStrategy } from '@app/routing';

/** Amounts are whole cents: they fit a number. */
export const cents = { from: Number, to: (value: number) => value };

/** Its id names its shard. */
@ShardedEntity({ strategy: new EmbeddedBitsStrategy() })
@Entity('wallets')
export class Wallet {
  @ShardedId({ kind: 'shard' })
  id!: ShardedId<Wallet>;

  @Column({ type: 'text' })
  owner!: string;

  @Column({ type: 'text' })
  country!: string;

  @Column({ type: 'bigint', transformer: cents })
  balance!: number;

  @VersionColumn()
  version!: number;
}
