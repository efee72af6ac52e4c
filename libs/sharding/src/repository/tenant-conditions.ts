import { FindOperator } from 'typeorm';
import { ShardingError } from '@app/routing';
import { foreignTenant } from './foreign-tenant.js';
import { shardedEntityOptions } from './sharded-entity.js';
import { assertEnclosed } from './sql-fragment.js';
import type { EntityMetadata } from 'typeorm';

/** A tenant as it is stored in the tenant column. */
export type Tenant = string | number;

/** What a caller asked for, as TypeORM takes it. */
type Conditions = Record<string, unknown>;

/** The tenant column of an entity; undefined where it has none. */
export function tenantColumnOf(metadata: EntityMetadata): string | undefined {
  return shardedEntityOptions(metadata.target)?.tenantColumn;
}

/**
 * Checks the conditions of a read or write before TypeORM sees them: no value may be missing, which would drop the
 * condition, and the tenant column may name no other tenant, at any depth.
 *
 * @throws ShardingError `invalid_options`; `cross_tenant`
 */
export function checkWhere(where: unknown, metadata: EntityMetadata, tenant: Tenant | undefined): void {
  for (const conditions of Array.isArray(where) ? (where as unknown[]) : [where]) {
    if (conditions === undefined) continue;
    if (typeof conditions !== 'object' || conditions === null) {
      throw new ShardingError(
        'invalid_options',
        `where of ${metadata.name} must be an object, or a list of objects`,
      );
    }
    for (const [key, value] of Object.entries(conditions)) checkCondition({ key, value, metadata, tenant });
  }
}

interface Condition {
  readonly key: string;
  readonly value: unknown;
  readonly metadata: EntityMetadata;
  /** Undefined where it is not known yet: the SQL is checked later. */
  readonly tenant: Tenant | undefined;
}

function checkCondition({ key, value, metadata, tenant }: Condition): void {
  if (value === undefined || value === null) {
    throw new ShardingError(
      'invalid_options',
      `where.${key} of ${metadata.name} is ${value}: leave the key out, or use IsNull()`,
    );
  }
  if (key === tenantColumnOf(metadata) && tenant !== undefined)
    return assertOwnTenant(value, metadata, tenant);
  const relation = metadata.findRelationWithPropertyPath(key);
  if (relation) return checkRelation({ key, value, metadata, tenant }, relation.inverseEntityMetadata);
  const embedded = metadata.findEmbeddedWithPropertyPath(key);
  if (embedded && typeof value === 'object') return checkEmbedded(key, value, { metadata, tenant });
  checkOperator(key, value, metadata);
}

/** Its columns are conditions like others. */
function checkEmbedded(path: string, value: object, of: Pick<Condition, 'metadata' | 'tenant'>): void {
  for (const [key, one] of Object.entries(value) as [string, unknown][]) {
    checkCondition({ ...of, key: `${path}.${key}`, value: one });
  }
}

/** Conditions on a related row; counts of rows, and no condition at all, are not taken. */
function checkRelation({ key, value, metadata, tenant }: Condition, related: EntityMetadata): void {
  const operator = value instanceof FindOperator && value.type !== 'isNull' && value.type !== 'not';
  const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  if (operator || empty) {
    throw new ShardingError(
      'invalid_options',
      `where.${key} of ${metadata.name} takes conditions on the related row`,
    );
  }
  if (typeof value === 'object' && !(value instanceof FindOperator)) checkWhere(value, related, tenant);
}

/** An operator over nothing would be a condition over nothing. */
function checkOperator(key: string, value: unknown, metadata: EntityMetadata): void {
  if (!(value instanceof FindOperator) || value.type === 'isNull') return;
  if (value.getSql) assertEnclosed(value.getSql('x'), metadata); // Raw
  const inner: unknown = value.child ?? value.value;
  if (Array.isArray(inner)) for (const one of inner as unknown[]) checkOperator(key, one, metadata);
  if (inner instanceof FindOperator) return checkOperator(key, inner, metadata);
  if (inner !== undefined && !(Array.isArray(inner) && inner.includes(undefined))) return;
  throw new ShardingError('invalid_options', `where.${key} of ${metadata.name} compares with undefined`);
}

/** The tenant column may be compared with the own tenant, plainly; anything else could mean others. */
function assertOwnTenant(value: unknown, metadata: EntityMetadata, tenant: Tenant): void {
  const operator = value instanceof FindOperator ? value.type : 'equal';
  const named: unknown = value instanceof FindOperator ? value.value : value;
  const all = operator === 'in' && Array.isArray(named) ? (named as unknown[]) : [named];
  const plain = operator === 'equal' || operator === 'in';
  if (plain && all.every((one) => sameTenant(one, tenant))) return;
  throw foreignTenant(metadata, 'a condition names another tenant');
}

/** The same value in the column: a number and its digits are one. */
export function sameTenant(value: unknown, tenant: Tenant): boolean {
  const comparable = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  return comparable && String(value) === String(tenant);
}

/** The conditions with the tenant's own, for statements of one table. */
export function scopedWhere(
  where: unknown,
  metadata: EntityMetadata,
  tenant: Tenant,
): Conditions | Conditions[] {
  checkWhere(where, metadata, tenant);
  refuseRaw(where, metadata);
  const column = tenantColumnOf(metadata);
  if (column === undefined) throw foreignTenant(metadata, 'it has no tenant column');
  const add = (conditions: unknown) => ({ ...(conditions as Conditions), [column]: tenant });
  return Array.isArray(where) ? where.map(add) : add(where);
}

/** In a write TypeORM joins conditions without parentheses, so that an OR inside of one would reach past the tenant. */
function refuseRaw(value: unknown, metadata: EntityMetadata): void {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof FindOperator && value.getSql) {
    throw new ShardingError(
      'invalid_options',
      `Raw() is not available in the criteria of a write of ${metadata.name}`,
    );
  }
  const inner = value instanceof FindOperator ? [value.child, value.value] : Object.values(value);
  for (const one of inner as unknown[]) refuseRaw(one, metadata);
}

/** Ids of related rows are loaded past the filter, so they are not loaded at all. @throws ShardingError `invalid_options` */
export function refuseUnscoped(options: object, entity: string): void {
  if (!('loadRelationIds' in options) || !options.loadRelationIds) return;
  throw new ShardingError('invalid_options', `loadRelationIds of ${entity} is not available: use relations`);
}
