import { ShardingError } from '@app/routing';
import { Fleet } from '../shards/fleet.js';
import { Shards } from '../shards/shards.js';
import { CrossShardReads } from './cross-shard-reads.js';
import { shardedRepositoryToken } from './inject-sharded-repository.decorator.js';
import { shardedEntityOptions, tenantScopeOf } from './sharded-entity.js';
import { ShardedRepository } from './sharded-repository.js';
import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm';
import type { EntityClass } from './sharded-entity.js';
import type { RepositoryParts } from './repository-parts.js';

/** A repository with finders of its own, for the entity that it names. */
export interface CustomRepository<R extends ShardedRepository<never> = ShardedRepository<never>> {
  new (parts: RepositoryParts<never>): R;
  readonly entity: EntityClass;
}

/** What `ShardingModule.forFeature` takes. */
export type Feature = EntityClass | CustomRepository;

/** One singleton provider a feature. */
export function featureProviders(features: readonly Feature[]): FactoryProvider[] {
  return features.map((feature) => {
    const custom = isCustom(feature);
    const entity = custom ? feature.entity : feature;
    const type = (custom ? feature : ShardedRepository) as new (
      parts: RepositoryParts<ObjectLiteral>,
    ) => object;
    return {
      provide: (custom ? feature : shardedRepositoryToken(entity)) as InjectionToken,
      inject: [Shards, Fleet, CrossShardReads],
      useFactory: async (shards: Shards, fleet: Fleet, crossShard: CrossShardReads) => {
        const metadataSource = await fleet.metadataSource();
        assertScoped(entity, metadataSource);
        return new type({ entity, shards, metadataSource, crossShard });
      },
    };
  });
}

function isCustom(feature: Feature): feature is CustomRepository {
  return feature.prototype instanceof ShardedRepository;
}

/** Relations whose join columns include the tenant column: TypeORM takes the tenant from them, not from the property. */
function sharedTenantColumns(metadata: EntityMetadata): string[] {
  const column = shardedEntityOptions(metadata.target)?.tenantColumn;
  const name = metadata.columns.find(({ propertyName }) => propertyName === column)?.databaseName;
  return metadata.relations
    .filter(({ joinColumns }) => joinColumns.some(({ databaseName }) => databaseName === name))
    .map(({ propertyName }) => `${metadata.name}.${propertyName}`);
}

/** @throws ShardingError `invalid_topology` at boot for an entity that could be read or written past its tenant */
function assertScoped(entity: EntityClass, source: DataSource): void {
  if (typeof entity !== 'function') {
    throw new ShardingError(
      'invalid_topology',
      'forFeature takes entity classes, and repositories with a static "entity"',
    );
  }
  tenantScopeOf(entity);
  if (!source.hasMetadata(entity)) {
    throw new ShardingError(
      'invalid_topology',
      `${entity.name} is not among the entities of the shards: add it to "entities"`,
    );
  }
  const shared = source.entityMetadatas.flatMap(sharedTenantColumns);
  if (shared.length > 0) {
    throw new ShardingError(
      'invalid_topology',
      `${shared.join(', ')}: a relation over the tenant column could name another tenant; give it a column of its own`,
    );
  }
  const lazy = source
    .getMetadata(entity)
    .relations.filter(
      (relation) => relation.isLazy && shardedEntityOptions(relation.inverseEntityMetadata.target),
    );
  if (lazy.length > 0) {
    const names = lazy.map(({ propertyName }) => `${entity.name}.${propertyName}`).join(', ');
    throw new ShardingError(
      'invalid_topology',
      `${names}: a lazy relation would be loaded past the tenant; load it with "relations"`,
    );
  }
}
