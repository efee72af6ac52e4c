import { getMetadataArgsStorage } from 'typeorm';
import { ShardingError } from '@app/routing';
import type { ObjectLiteral } from 'typeorm';
import type { ShardingStrategy, UnregisteredShard } from '@app/routing';

/** An entity class. */
export type EntityClass<E extends ObjectLiteral = ObjectLiteral> = abstract new (...args: never[]) => E;

/** Where reads of an entity go. */
interface EntityReads {
  /** `primary`: reads never use a replica. Default `policy`: as the shard's read policy says. */
  readonly reads?: 'policy' | 'primary';
}

/** What `@ShardedEntity` takes for an entity whose rows belong to tenants. */
export interface TenantEntityOptions extends EntityReads {
  /** The property that holds the tenant, which is the routing key. */
  readonly tenantColumn: string;
  readonly strategy?: undefined;
  readonly unregisteredShard?: undefined;
}

/** What says where the rows of an entity are: an object, or a class that Nest makes one of. */
export type StrategyOf<E, Id> =
  ShardingStrategy<E, Id> | (new (...parts: never[]) => ShardingStrategy<E, Id>);

/** What `@ShardedEntity` takes for an entity without tenants. */
export interface PlacedEntityOptions<E, Id = never> extends EntityReads {
  readonly tenantColumn?: undefined;
  /** A class is provided by `forFeature`, and may inject what is global. */
  readonly strategy: StrategyOf<E, Id>;
  /**
   * What becomes of an identifier that names no shard: `error` is `unregistered_shard`; with `default` member 0 of the same
   * group stands in, which is logged and counted, and the rows must be moved when the shard comes. Default `error`.
   */
  readonly unregisteredShard?: UnregisteredShard;
}

/** What `@ShardedEntity` takes: a tenant column, or a strategy. */
export type ShardedEntityOptions<E = never> = TenantEntityOptions | PlacedEntityOptions<E>;

const SHARDED = Symbol.for('nestjs-sharding.sharded-entity');

/**
 * Says which column of an entity holds the tenant: repositories then filter every read and write by it, as rows of several
 * tenants share a shard. Or which strategy says where its rows are: they belong to no tenant, and are not filtered.
 *
 * @example \@ShardedEntity({ tenantColumn: 'tenantId' }) \@Entity('bookmarks') export class Bookmark { ... }
 * @example \@ShardedEntity({ strategy: new EmbeddedBitsStrategy() }) \@Entity('wallets') export class Wallet { ... }
 */
export function ShardedEntity<E = unknown>(
  options: ShardedEntityOptions<E>,
): (target: abstract new (...args: never[]) => E) => void {
  return (target) => {
    Object.defineProperty(target, SHARDED, { value: Object.freeze({ ...options }) });
  };
}

/** What `@ShardedEntity` said about a class, or about one that it extends. */
export function shardedEntityOptions(target: unknown): ShardedEntityOptions | undefined {
  return typeof target === 'function' ? (target as { [SHARDED]?: ShardedEntityOptions })[SHARDED] : undefined;
}

/**
 * The options of an entity that must be tenant-scoped.
 *
 * @throws ShardingError `invalid_topology` when the class is not decorated, or its tenant column is none of its columns
 */
export function tenantScopeOf(target: EntityClass): TenantEntityOptions {
  const options = shardedEntityOptions(target);
  if (options?.tenantColumn === undefined) {
    throw new ShardingError(
      'invalid_topology',
      `${target.name} has no tenant column: decorate it with @ShardedEntity({ tenantColumn: '...' })`,
    );
  }
  const columns = getMetadataArgsStorage().filterColumns(lineageOf(target));
  if (!columns.some(({ propertyName }) => propertyName === options.tenantColumn)) {
    throw new ShardingError(
      'invalid_topology',
      `${target.name}.${options.tenantColumn} is not a column: name the property that holds the tenant in @ShardedEntity`,
    );
  }
  return options;
}

/**
 * The options of an entity that has a strategy, undefined of one that has none.
 *
 * @throws ShardingError `invalid_topology` for an entity with both a tenant column and a strategy
 */
export function placedOptionsOf(target: unknown): PlacedEntityOptions<never> | undefined {
  const options = shardedEntityOptions(target);
  if (options?.strategy === undefined) return undefined;
  if ((options as { readonly tenantColumn?: unknown }).tenantColumn === undefined) return options;
  throw new ShardingError(
    'invalid_topology',
    `${(target as EntityClass).name} has both a tenant column and a strategy: its rows are placed by their tenant, or by the strategy`,
  );
}

function lineageOf(target: EntityClass): EntityClass[] {
  const lineage: EntityClass[] = [];
  for (
    let at: unknown = target;
    typeof at === 'function' && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    lineage.push(at as EntityClass);
  }
  return lineage;
}
