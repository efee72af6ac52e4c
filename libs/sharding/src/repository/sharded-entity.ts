import { getMetadataArgsStorage } from 'typeorm';
import { ShardingError } from '@app/routing';
import type { ObjectLiteral } from 'typeorm';

/** An entity class. */
export type EntityClass<E extends ObjectLiteral = ObjectLiteral> = abstract new (...args: never[]) => E;

/** What `@ShardedEntity` takes. */
export interface ShardedEntityOptions {
  /** The property that holds the tenant, which is the routing key. */
  readonly tenantColumn: string;
  /** `primary`: reads never use a replica. Default `policy`: as the shard's read policy says. */
  readonly reads?: 'policy' | 'primary';
}

const SHARDED = Symbol.for('nestjs-sharding.sharded-entity');

/**
 * Says which column of an entity holds the tenant. Repositories then filter every read and write by it; rows of several
 * tenants share a shard.
 *
 * @example \@ShardedEntity({ tenantColumn: 'tenantId' }) \@Entity('bookmarks') export class Bookmark { ... }
 */
export function ShardedEntity(options: ShardedEntityOptions): ClassDecorator {
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
export function tenantScopeOf(target: EntityClass): ShardedEntityOptions {
  const options = shardedEntityOptions(target);
  if (!options) {
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
