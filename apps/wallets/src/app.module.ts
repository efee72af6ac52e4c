import { Module } from '@nestjs/common';
import { ActionsModule } from '@app/actions';
import { ShardingModule } from '@app/sharding';
import { Deposit } from './actions/deposit.action.js';
import { OpenWallet } from './actions/open-wallet.action.js';
import { Refund } from './actions/refund.action.js';
import { TransferWithin } from './actions/transfer-within.action.js';
import { Withdraw } from './actions/withdraw.action.js';
import { Countries } from './countries.js';
import { HistoryController } from './history.controller.js';
import { Movement } from './movement.entity.js';
import { TotalController } from './total.controller.js';
import { Totals } from './totals.js';
import { TransferSaga } from './transfer.saga.js';
import { Transfers } from './transfers.js';
import { TransfersController } from './transfers.controller.js';
import { WalletChanges } from './wallet-changes.js';
import { Wallet } from './wallet.entity.js';
import { WalletsController } from './wallets.controller.js';
import type { DynamicModule } from '@nestjs/common';
import type { ActionsOptions } from '@app/actions';
import type { ShardingOptions } from '@app/sharding';

/** What the code knows; databases and migrations come from `sharding.toml` and the environment. */
export const walletsSharding = { entities: [Wallet, Movement] } satisfies ShardingOptions;

@Module({
  controllers: [WalletsController, HistoryController, TransfersController, TotalController],
  providers: [
    WalletChanges,
    OpenWallet,
    Deposit,
    Withdraw,
    Refund,
    TransferWithin,
    TransferSaga,
    Transfers,
    Totals,
  ],
})
export class AppModule {
  /** @param options in place of the configuration file, for tests and the demo */
  static register(options: ShardingOptions = {}, actions: ActionsOptions = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ShardingModule.forRoot({
          ...walletsSharding,
          ...options,
          shardSelector: { useClass: Countries },
        }),
        ShardingModule.forFeature([Wallet, Movement]),
        ActionsModule.forRoot(actions),
      ],
    };
  }
}
