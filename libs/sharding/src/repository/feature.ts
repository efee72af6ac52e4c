import { ShardingError } from '@app/routing';
import { Fleet } from '../shards/fleet.js';
import { Shards } from '../shards/shards.js';
import { CrossShardReads } from './cross-shard-reads.js';
import { shardedRepositoryToken } from './inject-sharded-repository.decorator.js';
import { metadataOnly } from './metadata-only.js';
import { scopeProblems } from './scope-problems.js';
import { EntityPlaces } from './placed/entity-places.js';
import { PlacedRepository } from './placed/placed-repository.js';
import { placedOptionsOf, shardedEntityOptions, tenantScopeOf } from './sharded-entity.js';
import { ShardedRepository } from './sharded-repository.js';
import type { ClassProvider, FactoryProvider, InjectionToken } from '@nestjs/common';
import type { DataSource, ObjectLiteral } from 'typeorm';
import type { ShardingStrategy } from '@app/routing';
import type { PlacedParts } from './placed/placed-parts.js';
import type { EntityClass, PlacedEntityOptions } from './sharded-entity.js';
import type { RepositoryParts } from './repository-parts.js';

/** A repository with finders of its own, for the entity that it names. */
export interface CustomRepository {
  new (parts: never): ShardedRepository<never> | PlacedRepository<never>;
  readonly entity: EntityClass;
}

/** What `ShardingModule.forFeature` takes. */
export type Feature = EntityClass | CustomRepository;

/** One singleton provider a feature, and one for each strategy that Nest makes. */
export function featureProviders(features: readonly Feature[]): (FactoryProvider | ClassProvider)[] {
  return features.flatMap((feature) => {
    const custom = isCustom(feature);
    const entity = custom ? feature.entity : feature;
    const token = (custom ? feature : shardedRepositoryToken(entity)) as InjectionToken;
    const strategy = shardedEntityOptions(entity)?.strategy;
    if (!strategy) {
      const type = (custom ? feature : ShardedRepository) as RepositoryType<RepositoryParts<ObjectLiteral>>;
      return [tenantProvider(token, entity, type)];
    }
    const type = (custom ? feature : PlacedRepository) as RepositoryType<PlacedParts<ObjectLiteral>>;
    const made = typeof strategy === 'function' ? [{ provide: strategy, useClass: strategy }] : [];
    return [...made, placedProvider(token, entity, type)];
  });
}

type RepositoryType<Parts> = new (parts: Parts) => object;

function tenantProvider(
  provide: InjectionToken,
  entity: EntityClass,
  type: RepositoryType<RepositoryParts<ObjectLiteral>>,
): FactoryProvider {
  return {
    provide,
    inject: [Shards, Fleet, CrossShardReads],
    useFactory: async (shards: Shards, fleet: Fleet, crossShard: CrossShardReads) => {
      const metadataSource = await fleet.metadataSource();
      assertScoped(entity, metadataSource);
      return new type({ entity, shards, metadataSource: metadataOnly(metadataSource), crossShard });
    },
  };
}

type PlacedProviders = [EntityPlaces, Shards, Fleet, CrossShardReads, ShardingStrategy<never, never>?];

function placedProvider(
  provide: InjectionToken,
  entity: EntityClass,
  type: RepositoryType<PlacedParts<ObjectLiteral>>,
): FactoryProvider {
  const { strategy, ...options } = shardedEntityOptions(entity) as PlacedEntityOptions<never>;
  const own = typeof strategy === 'function' ? [strategy] : [];
  return {
    provide,
    inject: [EntityPlaces, Shards, Fleet, CrossShardReads, ...own],
    useFactory: async (...parts: PlacedProviders) => {
      const [places, shards, fleet, crossShard, made = strategy as ShardingStrategy<never, never>] = parts;
      placedOptionsOf(entity);
      const metadataSource = await fleet.metadataSource();
      assertKnown(entity, metadataSource);
      const { reads: readFrom = 'policy' } = options;
      const state = places.register(entity, made);
      return new type({ entity, shards, metadataSource, crossShard, strategy: made, state, readFrom });
    },
  };
}

function isCustom(feature: Feature): feature is CustomRepository {
  const { prototype } = feature as { readonly prototype?: unknown };
  return prototype instanceof ShardedRepository || prototype instanceof PlacedRepository;
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
  assertKnown(entity, source);
}

/** One entity that reads the rows of tenants as somebody else's is a problem of all. */
function assertKnown(entity: EntityClass, source: DataSource): void {
  if (!source.hasMetadata(entity)) {
    throw new ShardingError(
      'invalid_topology',
      `${entity.name} is not among the entities of the shards: add it to "entities"`,
    );
  }
  const problems = scopeProblems(source.entityMetadatas);
  if (problems.length > 0) throw new ShardingError('invalid_topology', problems.join('; '));
}
