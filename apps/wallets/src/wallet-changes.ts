import { ConflictException, Injectable } from '@nestjs/common';
import { InjectShardedRepository, PlacedRepository } from '@app/sharding';
import { WalletChanged } from './events.js';
import { movementOf, type MovementKind } from './movement.entity.js';
import { Wallet } from './wallet.entity.js';
import type { ActionPlan } from '@app/actions';
import type { ShardedId } from '@app/sharding';

/** One change of a balance. */
export interface WalletChange {
  readonly walletId: ShardedId<Wallet>;
  readonly kind: MovementKind;
  /** Cents; negative for a withdrawal. */
  readonly amount: number;
  readonly transferId?: string | undefined;
}

/** Stages a change of a balance with its line in the history and its event: always all three. */
@Injectable()
export class WalletChanges {
  constructor(@InjectShardedRepository(Wallet) private readonly wallets: PlacedRepository<Wallet>) {}

  /** @throws ConflictException where the balance is too low */
  async stage(plan: ActionPlan, { walletId, kind, amount, transferId }: WalletChange): Promise<Wallet> {
    const wallet = await this.wallets.onPrimary().findByIdOrFail(walletId);
    wallet.balance += amount;
    if (wallet.balance < 0) throw new ConflictException('the balance is too low');
    plan.update(wallet);
    plan.insert(movementOf(wallet, kind, { amount, transferId }));
    plan.emit(new WalletChanged(walletId, amount, wallet.balance), { of: wallet });
    return wallet;
  }
}
