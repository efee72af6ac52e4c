import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ActionExecutor, Sagas } from '@app/actions';
import { ShardedUuid } from '@app/routing';
import { TransferWithin } from './actions/transfer-within.action.js';
import { TransferSaga } from './transfer.saga.js';
import type { SagaState } from '@app/actions';
import type { Wallet } from './wallet.entity.js';

/** What a client asks for. */
export interface TransferRequest {
  readonly from: string;
  readonly to: string;
  /** Cents, positive. */
  readonly amount: number;
}

/** How far a transfer is. */
export interface TransferStatus {
  readonly transferId: string;
  readonly state: SagaState;
  readonly failure?: string;
}

/** On one shard a transfer is one transaction; between two it is a saga, which lives with the wallet that pays. */
@Injectable()
export class Transfers {
  constructor(
    @Inject(ActionExecutor) private readonly actions: ActionExecutor,
    @Inject(Sagas) private readonly sagas: Sagas,
  ) {}

  async send({ from, to, amount }: TransferRequest): Promise<TransferStatus> {
    const transfer = {
      transferId: randomUUID(),
      from: ShardedUuid.parse<Wallet>(from),
      to: ShardedUuid.parse<Wallet>(to),
      amount,
    };
    const { transferId } = transfer;
    const at = ShardedUuid.identifier(transfer.from);
    if (at.equals(ShardedUuid.identifier(transfer.to))) {
      await this.actions.execute(TransferWithin, transfer);
      return { transferId, state: 'completed' };
    }
    await this.sagas.start(TransferSaga, transfer, { sagaId: transferId, at });
    return { transferId, state: 'running' };
  }

  /** Of a transfer between shards. @param from the wallet that pays */
  async status(transferId: string, from: string): Promise<TransferStatus | undefined> {
    const saga = await this.sagas.find(transferId, { at: ShardedUuid.identifier(from) });
    if (!saga) return undefined;
    return { transferId, state: saga.progress.state, ...(saga.failure && { failure: saga.failure }) };
  }
}
