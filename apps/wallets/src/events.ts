import { EventType } from '@app/actions';

@EventType('wallet.opened')
export class WalletOpened {
  constructor(
    readonly walletId: string,
    readonly country: string,
  ) {}
}

/** Money came to a wallet, or left it. */
@EventType('wallet.changed')
export class WalletChanged {
  constructor(
    readonly walletId: string,
    /** Cents; negative where money has left. */
    readonly amount: number,
    readonly balance: number,
  ) {}
}
