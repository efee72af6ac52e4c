import type { DataSource, FindOptionsWhere, ObjectLiteral } from 'typeorm';
import type { Shards } from '../shards/shards.js';
import type { CrossShardReads } from './cross-shard-reads.js';
import type { EntityClass } from './sharded-entity.js';
import type { Locate, ReadFrom } from './tenant-place.js';

/** Which rows: one id, several, or conditions. */
export type Criteria<E> =
  string | number | Date | string[] | number[] | FindOptionsWhere<E> | FindOptionsWhere<E>[];
export type Where<E> = FindOptionsWhere<E> | FindOptionsWhere<E>[];
export type NumberColumn<E> = {
  [K in keyof E]: E[K] extends number | bigint | null | undefined ? K : never;
}[keyof E] &
  string;

/** What a repository is made of; from `ShardingModule.forFeature`. */
export interface RepositoryParts<E extends ObjectLiteral> {
  readonly entity: EntityClass<E>;
  readonly shards: Shards;
  /** Knows the columns; a statement never goes there. */
  readonly metadataSource: DataSource;
  /** Default: the place of the running work. */
  readonly locate?: Locate;
  readonly readFrom?: ReadFrom;
  readonly crossShard: CrossShardReads;
}
