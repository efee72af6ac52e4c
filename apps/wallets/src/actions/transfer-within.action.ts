import { Inject } from '@nestjs/common';
import { Action } from '@app/actions';
import { WalletChanges } from '../wallet-changes.js';
import type { ActionContext } from '@app/actions';
import type { Transfer } from '../transfer.js';

/** Both wallets live on one shard: one transaction. */
@Action()
export class TransferWithin {
  constructor(@Inject(WalletChanges) private readonly changes: WalletChanges) {}

  async perform({ transferId, from, to, amount }: Transfer, { plan }: ActionContext): Promise<void> {
    await this.changes.stage(plan, { walletId: from, amount: -amount, transferId, kind: 'withdrawal' });
    await this.changes.stage(plan, { walletId: to, amount, transferId, kind: 'deposit' });
  }
}
