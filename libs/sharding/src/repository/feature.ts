import { ShardingError } from '@app/routing';
import { Fleet } from '../shards/fleet.js';
import { Shards } from '../shards/shards.js';
import { CrossShardReads } from './cross-shard-reads.js';
import { shardedRepositoryToken } from './inject-sharded-repository.decorator.js';
import { metadataOnly } from './metadata-only.js';
import { scopeProblems } from './scope-problems.js';
import { tenantScopeOf } from './sharded-entity.js';
import { ShardedRepository } from './sharded-repository.js';
import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import type { DataSource, ObjectLiteral } from 'typeorm';
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
        return new type({ entity, shards, metadataSource: metadataOnly(metadataSource), crossShard });
      },
    };
  });
}

function isCustom(feature: Feature): feature is CustomRepository {
  return feature.prototype instanceof ShardedRepository;
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
  const problems = scopeProblems(source.entityMetadatas);
  if (problems.length > 0) throw new ShardingError('invalid_topology', problems.join('; '));
}
