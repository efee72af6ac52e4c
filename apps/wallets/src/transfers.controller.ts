import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Inject,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { TransferDto } from './dto.js';
import { Transfers } from './transfers.js';
import type { TransferStatus } from './transfers.js';

@ApiTags('transfers')
@Controller('api/wallets/:from/transfers')
export class TransfersController {
  constructor(@Inject(Transfers) private readonly transfers: Transfers) {}

  /** `completed` within a shard; between shards `running`, until `GET` says how it ended. */
  @Post()
  send(
    @Param('from', ParseUUIDPipe) from: string,
    @Body() { to, amount }: TransferDto,
  ): Promise<TransferStatus> {
    if (from.toLowerCase() === to.toLowerCase()) throw new BadRequestException('both wallets are the same');
    return this.transfers.send({ from, to, amount });
  }

  @Get(':transferId')
  async status(
    @Param('from', ParseUUIDPipe) from: string,
    @Param('transferId', ParseUUIDPipe) transferId: string,
  ): Promise<TransferStatus> {
    const status = await this.transfers.status(transferId, from);
    if (!status) throw new NotFoundException('no such transfer between shards');
    return status;
  }
}
