import { ShardedUuid } from '@app/routing';
import { Saga, SagaSteps } from '@app/actions';
import { Deposit } from './actions/deposit.action.js';
import { Refund } from './actions/refund.action.js';
import { Withdraw } from './actions/withdraw.action.js';
import type { SagaView } from '@app/actions';
import type { WalletAmount } from './actions/deposit.action.js';
import type { Transfer } from './transfer.js';

type TransferView = SagaView<Transfer>;

/** Money between wallets of two shards: it leaves the one, then reaches the other, or comes back. */
@Saga('transfer')
export class TransferSaga extends SagaSteps<Transfer> {
  override readonly stages = [
    this.step('withdraw', {
      action: Withdraw,
      params: sender,
      home: ({ data }: TransferView) => ({ at: ShardedUuid.identifier(data.from) }),
      compensation: { action: Refund, params: sender },
    }),
    this.step('deposit', {
      action: Deposit,
      params: ({ data: { to, amount, transferId } }: TransferView) => ({ walletId: to, amount, transferId }),
      home: ({ data }: TransferView) => ({ at: ShardedUuid.identifier(data.to) }),
    }),
  ];
}

function sender({ data: { from, amount, transferId } }: TransferView): WalletAmount {
  return { walletId: from, amount, transferId };
}
