import { Column, CreateDateColumn, Entity, Index } from 'typeorm';
import { EmbeddedBitsStrategy, ShardedUuid, type ShardIdentifier } from '@app/routing';
import { ShardedEntity, ShardedId } from '@app/sharding';
import { cents, type Wallet } from './wallet.entity.js';

export const MOVEMENT_KINDS = ['deposit', 'withdrawal', 'refund'] as const;
export type MovementKind = (typeof MOVEMENT_KINDS)[number];

/** Found by its own id, and by that of its wallet: both name the same shard. */
class BesideWallet extends EmbeddedBitsStrategy<Movement> {
  override ofQuery(where: { walletId?: unknown }): ShardIdentifier | undefined {
    const { walletId } = where;
    return typeof walletId === 'string' ? this.ofId(walletId) : super.ofQuery(where);
  }
}

/** One line of the history of a wallet: its id is made for the wallet's shard. */
@ShardedEntity({ strategy: new BesideWallet() })
@Entity('movements')
export class Movement {
  @ShardedId({ kind: 'shard' })
  id!: ShardedId<Movement>;

  @Index('movements_wallet_id')
  @Column({ name: 'wallet_id', type: 'uuid' })
  walletId!: string;

  @Column({ type: 'text' })
  kind!: MovementKind;

  /** Cents; negative where money has left. */
  @Column({ type: 'bigint', transformer: cents })
  amount!: number;

  @Column({ name: 'transfer_id', type: 'uuid', nullable: true })
  transferId!: string | null;

  @CreateDateColumn({ name: 'made_at', type: 'timestamptz' })
  madeAt!: Date;
}

/** @param transferId absent for money that comes from outside */
export function movementOf(
  wallet: Wallet,
  kind: MovementKind,
  { amount, transferId }: { amount: number; transferId?: string | undefined },
): Movement {
  const id = ShardedUuid.generate<Movement>(ShardedUuid.identifier(wallet.id));
  return Object.assign(new Movement(), {
    id,
    walletId: wallet.id,
    kind,
    amount,
    transferId: transferId ?? null,
  });
}
