import { ShardingError } from '@app/routing';
import { promised } from '../../shards/maybe-promise.js';
import { shardedEntityOptions } from '../sharded-entity.js';
import { shardedIdOf } from '../sharded-id.decorator.js';
import { assertSpelling, tenantSpelling } from '../stored-tenant.js';
import { sameTenant } from '../tenant-conditions.js';
import { tenantOfKey } from '../tenant-place.js';
import { firstFound } from './first-found.js';
import { assertIds, assertNames, giveId, giveIds, hasId, idPlace } from './given-ids.js';
import { noPlacement, Placement } from './placement.js';
import { placedState } from './placed-parts.js';
import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm';
import type { RoutingKey, ShardingStrategy } from '@app/routing';
import type { Fleet } from '../../shards/fleet.js';
import type { Shard } from '../../shards/shard.js';
import type { Shards } from '../../shards/shards.js';
import type { EntityClass } from '../sharded-entity.js';
import type { PlacedState } from './placed-parts.js';
import type { PlacedAt, Places } from './placement.js';

/** Where one entity lives, and what is known of its class. */
export interface EntityPlace {
  readonly metadata: EntityMetadata;
  readonly shard: Shard;
  /** What the row is routed by; undefined where a shard identifier, or a slot alone, says it. */
  readonly key: RoutingKey | undefined;
  /** The property that holds the tenant; undefined for an entity with a strategy. */
  readonly tenantColumn: string | undefined;
}

/** What is known of an entity whose place is asked for. */
export interface EntityPlaceOptions {
  /** `new` entities without a tenant or an id of `@ShardedId` are given them. */
  readonly row: 'new' | 'stored';
  /** The routing key of the running work, where there is one. */
  readonly key?: RoutingKey | undefined;
}

interface Placed {
  readonly strategy: ShardingStrategy<never, never>;
  readonly state: PlacedState;
}

/**
 * Says of any entity object on which shard its row is, by its tenant or its strategy. For what writes rows of several
 * entities; a repository knows its own.
 */
export class EntityPlaces {
  readonly #placed = new Map<EntityClass, Placed>();

  /** Provided by `ShardingModule`, not constructed. */
  constructor(
    private readonly fleet: Fleet,
    private readonly shards: Shards,
  ) {}

  /** The strategy of an entity of `forFeature`, and what its repositories share. */
  register(entity: EntityClass, strategy: ShardingStrategy<never, never>): PlacedState {
    const known = this.#placed.get(entity);
    if (known) return known.state;
    const state = placedState(entity, shardedEntityOptions(entity)?.unregisteredShard, this.fleet.telemetry);
    this.#placed.set(entity, { strategy, state });
    return state;
  }

  /**
   * @throws ShardingError `no_placement` for what is no entity of the shards, or does not say where it lives;
   *   `unregistered_shard`, `invalid_id`, `invalid_routing_key`, `residency_violation`, `placement_changed`
   */
  async of(entity: object, options: EntityPlaceOptions): Promise<EntityPlace> {
    const metadata = metadataOf(entity, await this.fleet.metadataSource());
    const { tenantColumn } = shardedEntityOptions(metadata.target) ?? {};
    return tenantColumn === undefined
      ? this.#ofPlaced(entity, metadata, options)
      : this.#ofTenant(entity, metadata, { ...options, tenantColumn });
  }

  async #ofTenant(
    entity: ObjectLiteral,
    metadata: EntityMetadata,
    { row, key: running, tenantColumn }: EntityPlaceOptions & { readonly tenantColumn: string },
  ): Promise<EntityPlace> {
    if (row === 'new' && running !== undefined) entity[tenantColumn] ??= tenantOfKey(running);
    const key = tenantKey(entity[tenantColumn], metadata, running);
    const spelling = tenantSpelling(metadata);
    if (spelling) assertSpelling(tenantOfKey(key), spelling, metadata.name);
    const shard = await promised(() => this.shards.route(key));
    if (row === 'new') {
      const rows = { written: [{ entity, metadata }], key, shard };
      giveIds(rows);
      assertIds(rows);
    }
    return { metadata, shard, key, tenantColumn };
  }

  async #ofPlaced(
    entity: ObjectLiteral,
    metadata: EntityMetadata,
    { row }: EntityPlaceOptions,
  ): Promise<EntityPlace> {
    const { strategy, state } = this.#placedOf(metadata);
    const { shards } = this;
    const placement = new Placement({ metadata, shards, strategy, unregistered: state.unregistered });
    const at = await promised(() => placement.ofEntity(entity));
    if (!at) throw noPlacement(metadata.name, 'an entity is written: give it what the strategy asks for');
    const [first] = at.shards;
    const own = row === 'new' ? first : state.loaded.assertStays(entity, at.shards);
    const shard = own ?? (await holder(entity, metadata, at.shards)) ?? first;
    if (!shard) throw noPlacement(metadata.name, 'an entity is written');
    if (row === 'new') identify(entity, metadata, { ...at, shard });
    return { metadata, shard, key: keyOf(at), tenantColumn: undefined };
  }

  #placedOf(metadata: EntityMetadata): Placed {
    const target = metadata.target as EntityClass;
    const known = this.#placed.get(target);
    if (known) return known;
    const strategy = shardedEntityOptions(target)?.strategy;
    if (strategy === undefined || typeof strategy === 'function') {
      const remedy = strategy
        ? 'add it to ShardingModule.forFeature, which makes its strategy'
        : 'decorate it with @ShardedEntity({ tenantColumn }) or @ShardedEntity({ strategy })';
      throw new ShardingError('no_placement', `nothing says where rows of ${metadata.name} are: ${remedy}`);
    }
    this.register(target, strategy);
    return this.#placedOf(metadata);
  }
}

function metadataOf(entity: object, source: DataSource): EntityMetadata {
  const { constructor } = entity;
  if (source.hasMetadata(constructor)) {
    return source.getMetadata(constructor).findInheritanceMetadata(entity);
  }
  const name = constructor === Object ? 'a plain object' : constructor.name;
  throw new ShardingError(
    'no_placement',
    `${name} is no entity of the shards: pass an instance of a class that is among "entities"`,
  );
}

/** The running work's key where the entity is of the same tenant: `5` and `'5'` are one tenant, and two routing keys. */
function tenantKey(value: unknown, { name }: EntityMetadata, running: RoutingKey | undefined): RoutingKey {
  if (running !== undefined && sameTenant(value, tenantOfKey(running))) return running;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  throw new ShardingError(
    'no_placement',
    `${name} has no tenant, and the running work has no routing key: set the tenant, or run it by Shards.runFor(key, work)`,
  );
}

function keyOf({ place }: PlacedAt): RoutingKey | undefined {
  return 'slot' in place ? place.key : undefined;
}

function identify(
  entity: ObjectLiteral,
  metadata: EntityMetadata,
  { place, shard }: PlacedAt & { readonly shard: Shard },
): void {
  const column = shardedIdOf(metadata.target);
  if (!column) return;
  if (hasId(entity, column)) assertNames(entity, column, idPlace(place, shard));
  else giveId(entity, column, idPlace(place, shard));
}

/** Of several shards the one that has the row; keys of its slot may be sent elsewhere. */
async function holder(
  entity: ObjectLiteral,
  metadata: EntityMetadata,
  shards: Places,
): Promise<Shard | undefined> {
  if (shards.length === 1 && !shards.missing) return shards[0];
  const where = metadata.getEntityIdMap(entity);
  if (!where) return shards[0];
  const ask = async (shard: Shard) =>
    (await (await shard.primary()).manager.existsBy(metadata.target, where)) ? true : null;
  return (await firstFound(shards, { ask }))?.shard ?? shards[0];
}
