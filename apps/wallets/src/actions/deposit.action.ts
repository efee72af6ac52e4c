import { Inject } from '@nestjs/common';
import { Action } from '@app/actions';
import { WalletChanges } from '../wallet-changes.js';
import type { ActionContext } from '@app/actions';
import type { ShardedId } from '@app/sharding';
import type { Wallet } from '../wallet.entity.js';

/** Money for one wallet. */
export interface WalletAmount {
  readonly walletId: ShardedId<Wallet>;
  /** Cents, positive. */
  readonly amount: number;
  readonly transferId?: string;
}

@Action()
export class Deposit {
  constructor(@Inject(WalletChanges) private readonly changes: WalletChanges) {}

  async perform(deposit: WalletAmount, { plan }: ActionContext): Promise<{ balance: number }> {
    const { balance } = await this.changes.stage(plan, { ...deposit, kind: 'deposit' });
    return { balance };
  }
}
