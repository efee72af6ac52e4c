import { Body, Controller, Get, Inject, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ShardedDb, ShardingModule } from '@app/sharding';
import { Entry, POOL_SIZE } from './place.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

@Controller()
class EntriesController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get('count')
  async count(): Promise<{ count: number }> {
    return { count: await this.db.getRepository(Entry).count() };
  }

  @Post('slow')
  async slow(@Body() { seconds }: { seconds: number }): Promise<{ done: true }> {
    await this.db.query('select pg_sleep($1)', [seconds]);
    return { done: true };
  }
}

/** One shard over HTTP or not at all; whoever boots it closes it. */
export async function boot(database: NonNullable<ShardingOptions['database']>): Promise<INestApplication> {
  const options: ShardingOptions = {
    database: { poolSize: POOL_SIZE, slowQueryThresholdMs: 0, ...database },
    tenancy: { source: 'header' },
    entities: [Entry],
  };
  @Module({
    imports: [ShardingModule.forRoot({ ...options, health: false, metrics: false, traces: 'off' })],
    controllers: [EntriesController],
  })
  class App {}
  return (await NestFactory.create(App, { logger: ['error', 'warn'] })).init();
}
