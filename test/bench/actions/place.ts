import 'reflect-metadata';
import { Injectable, Module, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ActionsModule, EventType, OnEvent, type HandledEvent, type OutboxOptions } from '@app/actions';
import { ShardingModule, migrate, resolveOptions } from '@app/sharding';
import { PostgresServer } from '../../support/postgres-server.js';

@EventType('bench.happened')
export class Happened {}

/** A server with `shards` databases that have the library's tables. Whoever makes it disposes of the server. */
export async function eventPlace(shards: number): Promise<{ server: PostgresServer; urls: string[] }> {
  const server = await PostgresServer.start({ name: 'bench' });
  try {
    const urls: string[] = [];
    for (let shard = 0; shard < shards; shard++) {
      const primaryUrl = await server.createDatabase(`shard${shard}`);
      await migrate(resolveOptions({ database: { primaryUrl } }), () => undefined);
      urls.push(primaryUrl);
    }
    return { server, urls };
  } catch (error) {
    await server.dispose();
    throw error;
  }
}

/** An application with a handler that only calls `seen`, without the inbox. */
export async function bootRelay(
  urls: readonly string[],
  seen: (event: HandledEvent) => void,
  outbox: OutboxOptions = {},
): Promise<INestApplicationContext> {
  @Injectable()
  class Handlers {
    @OnEvent(Happened, { name: 'bench' })
    handle(_event: Happened, envelope: HandledEvent): void {
      seen(envelope);
    }
  }
  return NestFactory.createApplicationContext(benchModule(urls, Handlers, outbox), {
    logger: false,
    abortOnError: false,
  });
}

function benchModule(urls: readonly string[], handlers: Type, outbox: OutboxOptions): Type {
  const shards = urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl }));
  @Module({
    imports: [
      ShardingModule.forRoot({
        database: { poolSize: 4, shards },
        health: false,
        metrics: false,
      }),
      ActionsModule.forRoot({ outbox }),
    ],
    providers: [handlers],
  })
  class BenchModule {}
  return BenchModule;
}
