import { Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { ShardDb } from '../shards/shard-db.js';
import { Shards } from '../shards/shards.js';
import type { FactoryProvider } from '@nestjs/common';

/**
 * The shard of the current request, routed before the handler runs; its failure reaches the exception filters. Its
 * route is fixed for the request's short life.
 *
 * It routes and does not filter: several tenants share a shard, so every statement needs its own tenant condition.
 * Request scope is for thin controllers. Services, and whatever lives longer than a request (WebSocket, streams, jobs),
 * inject `Shards`, which routes at each call.
 */
export class ShardedDb extends ShardDb {}

export const shardedDbProvider: FactoryProvider<ShardedDb> = {
  provide: ShardedDb,
  scope: Scope.REQUEST,
  inject: [REQUEST, Shards],
  useFactory: (request: object | undefined, shards: Shards) => shards.currentAs(ShardedDb, request),
};
