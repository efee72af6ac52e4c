import { ShardingError } from '@app/routing';
import { foreignTenant } from './foreign-tenant.js';
import { sameTenant, tenantColumnOf } from './tenant-conditions.js';
import { relatedOf } from './tenant-relations.js';
import type { EntityManager, EntityMetadata, ObjectLiteral } from 'typeorm';
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js';
import type { Written } from './tenant-relations.js';
import type { Tenant } from './tenant-conditions.js';

/**
 * Everything that saving `entities` writes: themselves and, by cascades, what they refer to. Each once.
 */
export function writtenBy(entities: readonly ObjectLiteral[], metadata: EntityMetadata): Written[] {
  const seen = new Set<object>();
  const written: Written[] = [];
  const queue: Written[] = entities.map((entity) => typed(entity, metadata));
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (seen.has(next.entity)) continue;
    seen.add(next.entity);
    written.push(next);
    queue.push(...cascades(next));
  }
  return written;
}

/** What an entity is among those that share its table. */
function typed(entity: ObjectLiteral, metadata: EntityMetadata): Written {
  return { entity, metadata: metadata.findInheritanceMetadata(entity) };
}

/** A stored row without a tenant column could be anybody's, also what TypeORM would detach from the other side. */
function refuseUnowned({ entity, metadata }: Written, relation: RelationMetadata): void {
  const related = relation.inverseEntityMetadata;
  const value: unknown = relation.getEntityValue(entity);
  if (value === undefined || tenantColumnOf(related) !== undefined) return;
  const inverse = relation.isOneToMany || relation.isOneToOneNotOwner;
  const cascade = relation.isCascadeInsert || relation.isCascadeUpdate;
  const identified = relatedOf({ entity, metadata }, relation).some((one) => related.hasAllPrimaryKeys(one));
  if (identified ? !cascade && !inverse : !inverse || !metadata.hasAllPrimaryKeys(entity)) return;
  throw new ShardingError(
    'invalid_options',
    `save of ${metadata.name} with "${relation.propertyName}": ${related.name} has no tenant column, so that its stored rows could be anybody's; only new ones of a new row, by a cascade, are saved with it`,
  );
}

function cascades(written: Written): Written[] {
  return written.metadata.relations.flatMap((relation) => {
    refuseUnowned(written, relation);
    if (!relation.isCascadeInsert && !relation.isCascadeUpdate) return [];
    return relatedOf(written, relation).map((one) => typed(one, relation.inverseEntityMetadata));
  });
}

/**
 * Writes the tenant into entities that have none.
 *
 * @throws ShardingError `cross_tenant` for an entity of another tenant
 */
export function stamp(written: readonly Written[], tenant: Tenant): void {
  for (const { entity, metadata } of written) {
    const column = tenantColumnOf(metadata);
    if (column === undefined) continue;
    const own: unknown = entity[column];
    if (own === undefined || own === null) entity[column] = tenant;
    else if (!sameTenant(own, tenant)) throw foreignTenant(metadata, 'an entity belongs to another tenant');
  }
}

/**
 * Locks the stored rows of entities that are saved by their id, and tells which of them are not stored yet.
 *
 * @throws ShardingError `cross_tenant` when a row belongs to another tenant
 */
export async function lockOwn(
  manager: EntityManager,
  written: readonly Written[],
  tenant: Tenant,
): Promise<Set<ObjectLiteral>> {
  const missing = new Set<ObjectLiteral>();
  for (const [metadata, entities] of identified(written)) {
    const owners = await ownersOf(manager, metadata, entities);
    for (const entity of entities) {
      const owner = owners.get(idOf(metadata, entity));
      if (owner === undefined) missing.add(entity);
      else if (!sameTenant(owner, tenant)) throw foreignTenant(metadata, 'the row belongs to another tenant');
    }
  }
  return missing;
}

/** The missing ones in an order in which each comes behind those that it refers to. */
export function insertOrder(written: readonly Written[], missing: ReadonlySet<ObjectLiteral>): Written[] {
  const ordered: Written[] = [];
  const waiting = new Map(written.map((one) => [one.entity, one]));
  const visit = (one: Written): void => {
    waiting.delete(one.entity);
    for (const relation of one.metadata.relations) {
      if (!relation.isManyToOne && !relation.isOneToOneOwner) continue;
      for (const related of relatedOf(one, relation)) {
        const other = waiting.get(related);
        if (other) visit(other);
      }
    }
    if (missing.has(one.entity)) ordered.push(one);
  };
  for (const one of written) if (waiting.has(one.entity)) visit(one);
  return ordered;
}

/** The entities with an id and a tenant column, by type. */
function identified(written: readonly Written[]): Map<EntityMetadata, ObjectLiteral[]> {
  const byType = new Map<EntityMetadata, ObjectLiteral[]>();
  for (const { entity, metadata } of written) {
    if (tenantColumnOf(metadata) === undefined || !metadata.hasAllPrimaryKeys(entity)) continue;
    byType.set(metadata, [...(byType.get(metadata) ?? []), entity]);
  }
  return byType;
}

/** Tenant by id of the rows that are stored, whosever they are; in the order of the ids, so that nobody deadlocks. */
async function ownersOf(
  manager: EntityManager,
  metadata: EntityMetadata,
  entities: readonly ObjectLiteral[],
): Promise<Map<string, unknown>> {
  const tenantColumn = metadata.findColumnWithPropertyPath(tenantColumnOf(metadata) ?? '');
  const columns = [...metadata.primaryColumns, ...(tenantColumn ? [tenantColumn] : [])];
  const query = manager.createQueryBuilder(metadata.target, 'stored').withDeleted().select([]);
  columns.forEach((column, index) => query.addSelect(`stored.${column.propertyPath}`, `c${index}`));
  metadata.primaryColumns.forEach((column) => query.addOrderBy(`stored.${column.propertyPath}`));
  const rows = await query
    .whereInIds(entities.map((entity) => metadata.getEntityIdMap(entity)))
    .setLock('pessimistic_write')
    .getRawMany<Record<string, unknown>>();
  return new Map(
    rows.map((row) => {
      const values = columns.map((_column, index) => row[`c${index}`]);
      return [key(values.slice(0, metadata.primaryColumns.length)), values.at(-1)];
    }),
  );
}

function idOf(metadata: EntityMetadata, entity: ObjectLiteral): string {
  return key(metadata.primaryColumns.map((column) => column.getEntityValue(entity, true) as unknown));
}

/** Drivers give a bigint as text, callers as a number: both are one id. */
function key(values: readonly unknown[]): string {
  return JSON.stringify(values.map((value) => (value instanceof Date ? value.toISOString() : String(value))));
}

/** The condition of rows by id, as `update` and `delete` take it: one value, or an object, or a list of them. */
export function criteriaOf(criteria: unknown, metadata: EntityMetadata): unknown {
  const one = (given: unknown): unknown => {
    if (typeof given === 'object' && given !== null && !(given instanceof Date)) return given;
    const [column] = metadata.primaryColumns;
    if (!column || metadata.primaryColumns.length > 1) {
      throw new ShardingError(
        'invalid_options',
        `${metadata.name} has several id columns: name them in an object`,
      );
    }
    return { [column.propertyName]: given };
  };
  return Array.isArray(criteria) ? (criteria as unknown[]).map(one) : one(criteria);
}
