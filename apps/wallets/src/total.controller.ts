import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Totals } from './totals.js';
import type { Total } from './totals.js';

@ApiTags('total')
@Controller('api/total')
export class TotalController {
  constructor(@Inject(Totals) private readonly totals: Totals) {}

  /** Over all shards; while transfers are under way, some of the money is between them. */
  @Get()
  total(): Promise<Total> {
    return this.totals.read();
  }
}
