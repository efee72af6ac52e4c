import { Inject } from '@nestjs/common';
import { Action } from '@app/actions';
import { WalletChanges } from '../wallet-changes.js';
import type { ActionContext } from '@app/actions';
import type { WalletAmount } from './deposit.action.js';

/** Undoes a withdrawal. */
@Action()
export class Refund {
  constructor(@Inject(WalletChanges) private readonly changes: WalletChanges) {}

  async perform(refund: WalletAmount, { plan }: ActionContext): Promise<{ balance: number }> {
    const { balance } = await this.changes.stage(plan, { ...refund, kind: 'refund' });
    return { balance };
  }
}
