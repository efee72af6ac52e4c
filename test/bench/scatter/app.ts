import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ShardingModule, shardedRepositoryToken, type ShardedRepository } from '@app/sharding';
import { Line, Post, shardsOf } from './data.js';
import type { INestApplicationContext } from '@nestjs/common';
import type { PostgresServer } from '../../support/postgres-server.js';

/** An application over the first so many shards; whoever boots it closes it. */
export async function boot(server: PostgresServer, count: number): Promise<INestApplicationContext> {
  const sharding = {
    database: shardsOf(server, count),
    entities: [Post, Line],
    crossShardAccess: () => true,
    health: false,
    metrics: false,
  } as const;
  @Module({
    imports: [
      ShardingModule.forRoot({ ...sharding, entities: [Post, Line] }),
      ShardingModule.forFeature([Post, Line]),
    ],
  })
  class App {}
  return NestFactory.createApplicationContext(App, { logger: ['error'] });
}

export function repository<E extends object>(
  app: INestApplicationContext,
  entity: new () => E,
): ShardedRepository<E> {
  return app.get<ShardedRepository<E>>(shardedRepositoryToken(entity));
}
