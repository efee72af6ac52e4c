import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ShardingModule } from '@app/sharding';
import { Link } from '../request/link.entity.js';

/** Boots with 100 shards that have no server, listens, tells how long that took and ends. */
const SHARDS = 100;
const port = Number(process.argv[2]);
const edge = (index: number) => Math.floor((index * 16384) / SHARDS);
const shards = Array.from({ length: SHARDS }, (_none, index) => ({
  name: `shard${index}`,
  primaryUrl: `postgres://user:secret@127.0.0.1:${port}/shard${index}`,
  slots: [`${edge(index)}-${edge(index + 1) - 1}`],
}));

const began = performance.now();
@Module({
  imports: [
    ShardingModule.forRoot({ database: { shards }, tenancy: { source: 'header' }, entities: [Link] }),
  ],
})
class App {}
const app = await NestFactory.create(App, { logger: false });
await app.listen(0, '127.0.0.1');
process.send?.(performance.now() - began);
await app.close();
process.disconnect();
