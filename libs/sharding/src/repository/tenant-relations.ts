import { ShardingError } from '@app/routing';
import { foreignTenant } from './foreign-tenant.js';
import { sameTenant, tenantColumnOf } from './tenant-conditions.js';
import type { EntityManager, EntityMetadata, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js';
import type { Tenant } from './tenant-conditions.js';

/** An entity that will be written, and what it is. */
export interface Written {
  readonly entity: ObjectLiteral;
  readonly metadata: EntityMetadata;
}

/** Rows of a type with one of these values in these columns. */
interface Rows {
  readonly metadata: EntityMetadata;
  readonly columns: readonly ColumnMetadata[];
  readonly values: readonly unknown[][];
}

/** What the relation of an entity holds, as a list; the ids that stand for entities are left out. */
export function relatedOf({ entity }: Written, relation: RelationMetadata): ObjectLiteral[] {
  const value: unknown = relation.getEntityValue(entity);
  const all = Array.isArray(value) ? (value as unknown[]) : [value];
  return all.filter((one): one is ObjectLiteral => typeof one === 'object' && one !== null);
}

/**
 * Checks that everything which the entities refer to is of the tenant: what is named by an object or an id, and, where a
 * list of the other side is saved, the rows that TypeORM would detach because they are not listed.
 *
 * @throws ShardingError `cross_tenant`
 */
export async function assertRelated(
  manager: EntityManager,
  written: readonly Written[],
  tenant: Tenant,
): Promise<void> {
  const referred = new Map<string, Rows>();
  for (const one of written) {
    for (const relation of one.metadata.relations) {
      const related = relation.inverseEntityMetadata;
      if (tenantColumnOf(related) === undefined) continue;
      assertObjects(relatedOf(one, relation), related, tenant);
      for (const found of rowsOf(one, relation)) {
        const key = JSON.stringify([related.name, found.columns.map(({ databaseName }) => databaseName)]);
        const values = [...(referred.get(key)?.values ?? []), ...found.values];
        referred.set(key, { ...found, values });
      }
    }
  }
  for (const found of referred.values()) await assertOwn(manager, found, tenant);
}

/** An object may say itself whose it is. */
function assertObjects(objects: readonly ObjectLiteral[], metadata: EntityMetadata, tenant: Tenant): void {
  const column = tenantColumnOf(metadata) ?? '';
  for (const { [column]: owner } of objects) {
    if (owner !== undefined && owner !== null && !sameTenant(owner, tenant)) {
      throw foreignTenant(metadata, 'a related entity belongs to another tenant');
    }
  }
}

function rowsOf(written: Written, relation: RelationMetadata): Rows[] {
  const { entity, metadata } = written;
  const related = relation.inverseEntityMetadata;
  if (relation.isManyToOne || relation.isOneToOneOwner) {
    const columns = relation.joinColumns.flatMap(({ referencedColumn }) => referencedColumn ?? []);
    const value: unknown = relation.getEntityValue(entity);
    const named = typeof value === 'object' && value !== null ? valuesOf(columns, value) : [value];
    return rows(related, columns, [named, valuesOf(relation.joinColumns, entity)]);
  }
  const listed = relatedOf(written, relation).map((one) => valuesOf(related.primaryColumns, one));
  const named = rows(related, related.primaryColumns, listed);
  const joins = relation.inverseRelation?.joinColumns ?? [];
  const stored = relation.getEntityValue(entity) !== undefined && metadata.hasAllPrimaryKeys(entity);
  if (relation.isManyToMany || !stored) return named;
  const referenced = joins.flatMap(({ referencedColumn }) => referencedColumn ?? []);
  return [...named, ...rows(related, joins, [valuesOf(referenced, entity)])];
}

function valuesOf(columns: readonly ColumnMetadata[], entity: ObjectLiteral): unknown[] {
  return columns.map((column) => column.getEntityValue(entity, true) as unknown);
}

function rows(
  metadata: EntityMetadata,
  columns: readonly ColumnMetadata[],
  all: readonly unknown[][],
): Rows[] {
  const named = all.filter((one) => one.length === columns.length);
  const values = named.filter((one) => one.every((value) => value !== undefined && value !== null));
  return columns.length > 0 && values.length > 0 ? [{ metadata, columns, values }] : [];
}

/** One statement for all values: is one of these rows somebody else's? */
async function assertOwn(manager: EntityManager, found: Rows, tenant: Tenant): Promise<void> {
  const { metadata, columns } = found;
  const values = [...new Map(found.values.map((one) => [one.map(String).join(), one])).values()];
  if (values.flat().some((value) => typeof value === 'function')) {
    throw new ShardingError('invalid_options', `a reference to ${metadata.name} is a value, not SQL`);
  }
  const query = manager.createQueryBuilder(metadata.target, 'stored').withDeleted();
  const named = (name: string) => `${query.escape('stored')}.${query.escape(name)}`;
  const owner = metadata.findColumnWithPropertyPath(tenantColumnOf(metadata) ?? '')?.databaseName ?? '';
  const tuples = values.map((one, row) => `(${one.map((_value, at) => `:v${row}_${at}`).join(', ')})`);
  const foreign = await query
    .where(`(${columns.map(({ databaseName }) => named(databaseName)).join(', ')}) in (${tuples.join(', ')})`)
    .andWhere(`${named(owner)} is distinct from :tenant`, { tenant })
    .setParameters(
      Object.fromEntries(values.flatMap((one, row) => one.map((value, at) => [`v${row}_${at}`, value]))),
    )
    .getExists();
  if (foreign) throw foreignTenant(metadata, 'a related row belongs to another tenant');
}
