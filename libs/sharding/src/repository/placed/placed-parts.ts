import { LoadedEntities } from './loaded-entities.js';
import { UnregisteredShards } from './unregistered-shards.js';
import type { DataSource, ObjectLiteral } from 'typeorm';
import type { ShardingStrategy, UnregisteredShard } from '@app/routing';
import type { Shards } from '../../shards/shards.js';
import type { ShardDb } from '../../shards/shard-db.js';
import type { Telemetry } from '../../shards/telemetry.js';
import type { CrossShardReads } from '../cross-shard-reads.js';
import type { EntityClass } from '../sharded-entity.js';
import type { ReadFrom } from '../tenant-place.js';

/** What the repositories of one entity share. */
export interface PlacedState {
  readonly loaded: LoadedEntities;
  readonly unregistered: UnregisteredShards;
}

/** What a `PlacedRepository` is made of; from `ShardingModule.forFeature`. */
export interface PlacedParts<E extends ObjectLiteral> {
  readonly entity: EntityClass<E>;
  readonly shards: Shards;
  /** Knows the columns; a statement never goes there. */
  readonly metadataSource: DataSource;
  readonly crossShard: CrossShardReads;
  readonly strategy: ShardingStrategy<never, never>;
  readonly state: PlacedState;
  readonly readFrom: ReadFrom;
  /** Default: what the strategy names. */
  readonly db?: ShardDb | undefined;
}

/** @param policy what becomes of identifiers that name no shard */
export function placedState(
  { name }: EntityClass,
  policy: UnregisteredShard | undefined,
  telemetry: Telemetry,
): PlacedState {
  return {
    loaded: new LoadedEntities(name),
    unregistered: new UnregisteredShards({ entity: name, policy, telemetry }),
  };
}
