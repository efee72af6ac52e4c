import { Action } from '@app/actions';
import { Wallet } from '../wallet.entity.js';
import { WalletOpened } from '../events.js';
import type { ActionContext } from '@app/actions';
import type { ShardedId } from '@app/sharding';
import type { Owner } from '../countries.js';

/** A wallet without money, where its id says. */
@Action()
export class OpenWallet {
  async perform(
    { id, country, owner }: Owner & { id: ShardedId<Wallet> },
    { plan }: ActionContext,
  ): Promise<Wallet> {
    const wallet = Object.assign(new Wallet(), { id, country, owner, balance: 0, version: 1 });
    plan.insert(wallet);
    plan.emit(new WalletOpened(id, country), { of: wallet });
    return wallet;
  }
}
