import { Inject } from '@nestjs/common';
import { Action } from '@app/actions';
import { WalletChanges } from '../wallet-changes.js';
import type { ActionContext } from '@app/actions';
import type { WalletAmount } from './deposit.action.js';

@Action()
export class Withdraw {
  constructor(@Inject(WalletChanges) private readonly changes: WalletChanges) {}

  async perform({ amount, ...rest }: WalletAmount, { plan }: ActionContext): Promise<{ balance: number }> {
    const change = { ...rest, amount: -amount, kind: 'withdrawal' } as const;
    const { balance } = await this.changes.stage(plan, change);
    return { balance };
  }
}
