import type { ShardedId } from '@app/sharding';
import type { Wallet } from './wallet.entity.js';

/** Money that goes from one wallet to another. */
export interface Transfer {
  /** UUID: the same transfer is done once. */
  readonly transferId: string;
  readonly from: ShardedId<Wallet>;
  readonly to: ShardedId<Wallet>;
  /** Cents, positive. */
  readonly amount: number;
}
