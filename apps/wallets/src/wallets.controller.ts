import { Body, Controller, Get, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ShardedUuid, ShardSelector } from '@app/routing';
import { ActionExecutor } from '@app/actions';
import { InjectShardedRepository, PlacedRepository } from '@app/sharding';
import { Deposit } from './actions/deposit.action.js';
import { OpenWallet } from './actions/open-wallet.action.js';
import { Countries } from './countries.js';
import { DepositDto, OpenWalletDto } from './dto.js';
import { Wallet } from './wallet.entity.js';

@ApiTags('wallets')
@Controller('api/wallets')
export class WalletsController {
  constructor(
    @Inject(ActionExecutor) private readonly actions: ActionExecutor,
    @Inject(ShardSelector) private readonly countries: Countries,
    @InjectShardedRepository(Wallet) private readonly wallets: PlacedRepository<Wallet>,
  ) {}

  /** The country says the group for ever; the id keeps it. */
  @Post()
  open(@Body() { country, owner }: OpenWalletDto): Promise<Wallet> {
    const id = ShardedUuid.generate<Wallet>(this.countries.identifierOf({ country, owner }));
    return this.actions.execute(OpenWallet, { id, country, owner });
  }

  @Get(':id')
  wallet(@Param('id') id: string): Promise<Wallet> {
    return this.wallets.findByIdOrFail(ShardedUuid.parse<Wallet>(id));
  }

  @Post(':id/deposits')
  deposit(@Param('id') id: string, @Body() { amount }: DepositDto): Promise<{ balance: number }> {
    return this.actions.execute(Deposit, { walletId: ShardedUuid.parse<Wallet>(id), amount });
  }
}
