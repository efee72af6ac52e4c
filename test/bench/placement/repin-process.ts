import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ShardingModule, Shards } from '@app/sharding';
import type { ShardingOptions } from '@app/sharding';

/** Told `{ key, shard }`, it answers with the time at which it routes the key there. */
const options = JSON.parse(process.env['BENCH_OPTIONS'] ?? '{}') as ShardingOptions;

@Module({ imports: [ShardingModule.forRoot({ ...options, metrics: false, traces: 'off', health: false })] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
const shards = app.get(Shards);

process.on('message', ({ key, shard }: { key: string; shard: string }) => {
  const look = async (): Promise<void> => {
    if ((await shards.shardFor(key)).name !== shard) return void setTimeout(() => void look(), 1);
    process.send?.({ at: performance.timeOrigin + performance.now() });
  };
  void look();
});
process.on('disconnect', () => void app.close());
process.send?.('ready');
