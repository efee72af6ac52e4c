import { ShardingError } from '@app/routing';
import { readOn } from '../shards/reads/reader.js';
import { chain } from '../shards/maybe-promise.js';
import type { EntityManager } from 'typeorm';
import type { RoutingKey } from '@app/routing';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { ShardDb } from '../shards/shard-db.js';
import type { Shard } from '../shards/shard.js';
import type { Shards } from '../shards/shards.js';
import type { Tenant } from './tenant-conditions.js';
import type { TenantRun } from './tenant-query-builder.js';

/** A shard, or a given database of it instead of its own. */
export interface DbPlace {
  readonly shard: Shard;
  readonly db?: ShardDb | undefined;
}

/** Which tenant, and where its rows live. */
export interface TenantPlace extends DbPlace {
  readonly tenant: Tenant;
  /** What the tenant is routed by: `5`, `5n` and `'5'` are one tenant in a column, and two routing keys. */
  readonly key: RoutingKey;
}

/** Finds the place of a call: of the running work, of a key, or of a given database. */
export type Locate = () => MaybePromise<TenantPlace>;

/** Where reads go: as the shard's policy says, or always to the primary. */
export type ReadFrom = 'policy' | 'primary';

/** The place of the running work: its routing key is the tenant. */
export function placeOfContext(shards: Shards): Locate {
  return () => chain(shards.locate(), ({ key, shard }) => ({ tenant: tenantOfKey(key), key, shard }));
}

/** The place of an explicit key. */
export function placeOfKey(shards: Shards, key: RoutingKey): Locate {
  return () => chain(shards.route(key), (shard) => ({ tenant: tenantOfKey(key), key, shard }));
}

/** A given database, for the tenant of the running work or an explicit one. */
export function placeOnDb(db: ShardDb, tenant: Locate | RoutingKey): Locate {
  const at = (key: RoutingKey): TenantPlace => ({ tenant: tenantOfKey(key), key, shard: db.shard, db });
  if (typeof tenant !== 'function') return () => at(tenant);
  return () => chain(tenant(), ({ key }) => at(key));
}

/** Runs a read where reads of the place go. */
export function readAt<T>(
  place: DbPlace,
  from: ReadFrom,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  if (from === 'policy') return readOn(place.db?.reader() ?? place.shard.reader(), work);
  return writeAt(place, (db) => work(db.manager));
}

/** {@link readAt} for a tenant's query builder. */
export function runAt<T>(
  place: TenantPlace,
  from: ReadFrom,
  work: (run: TenantRun) => Promise<T>,
): Promise<T> {
  const { tenant } = place;
  return readAt(place, from, ({ dataSource, queryRunner }) =>
    work({ tenant, source: dataSource, runner: queryRunner }),
  );
}

/** Runs work on the primary of the place. */
export async function writeAt<T>(place: DbPlace, work: (db: ShardDb) => Promise<T>): Promise<T> {
  return work(place.db ?? (await place.shard.primary()));
}

/** @throws ShardingError `no_routing_key` for bytes */
export function tenantOfKey(key: RoutingKey): Tenant {
  if (typeof key === 'string' || typeof key === 'number') return key;
  if (typeof key === 'bigint') return String(key);
  throw new ShardingError(
    'no_routing_key',
    'a repository needs a tenant: the routing key is bytes, which no column holds',
  );
}
