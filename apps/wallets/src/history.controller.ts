import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ShardedUuid } from '@app/routing';
import { InjectShardedRepository, PlacedRepository } from '@app/sharding';
import { Movement } from './movement.entity.js';
import type { Wallet } from './wallet.entity.js';

/** The newest ones; a page of them is enough for the example. */
const HISTORY_LIMIT = 100;

@ApiTags('wallets')
@Controller('api/wallets/:id/history')
export class HistoryController {
  constructor(@InjectShardedRepository(Movement) private readonly movements: PlacedRepository<Movement>) {}

  /** Beside the wallet: its id names the shard of both. */
  @Get()
  history(@Param('id') id: string): Promise<Movement[]> {
    const walletId = ShardedUuid.parse<Wallet>(id);
    return this.movements.find({
      where: { walletId },
      order: { madeAt: 'DESC', id: 'DESC' },
      take: HISTORY_LIMIT,
    });
  }
}
