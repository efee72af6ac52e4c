import { randomUUID } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { jsonValue } from './json-value.js';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ChangeKind } from '../plan/action-plan.js';
import type { JsonValue, RowOperation, RowValues } from './row-operation.js';

/** An entity of a known class. */
export interface TypedEntity {
  readonly entity: ObjectLiteral;
  readonly metadata: EntityMetadata;
  /** The property that holds the tenant, where it has one. */
  readonly tenantColumn?: string | undefined;
}

/**
 * What becomes of the row of an entity, from the values that it has now.
 *
 * @throws ShardingError `invalid_options` for SQL expressions as values, for an update without a `@VersionColumn`, and for a
 *   stored row without its id or version
 */
export function rowOperation(kind: ChangeKind, typed: TypedEntity): RowOperation {
  if (kind === 'insert') return inserted(typed);
  const { metadata } = typed;
  const { versionColumn } = metadata;
  if (kind === 'update' && !versionColumn) {
    throw new ShardingError(
      'invalid_options',
      `${metadata.name} has no @VersionColumn, so that a change by others would be overwritten unseen: add one`,
    );
  }
  const keyed = { ...described(metadata), where: condition(typed) };
  return kind === 'delete' ? { kind, ...keyed } : { kind, ...keyed, ...updated(typed) };
}

/** The primary key as text, undefined where it has no value yet. */
export function rowId({ entity, metadata }: TypedEntity): string | undefined {
  const values = metadata.primaryColumns.map((column) => storedValue(entity, column));
  if (values.some((value) => value === undefined || value === null)) return undefined;
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(',');
}

function inserted({ entity, metadata }: TypedEntity): RowOperation {
  const columns = metadata.columns.filter(isWritable).filter(({ isInsert }) => isInsert);
  for (const column of columns) generateUuid(entity, column);
  const values = new Map(columns.map((column) => [column, insertedValue(entity, column)]));
  const returning = metadata
    .getInsertionReturningColumns()
    .filter((column) => values.get(column) === undefined)
    .map(({ databaseName }) => databaseName);
  return {
    kind: 'insert',
    ...described(metadata),
    values: named(columns, (column) => values.get(column)),
    returning,
  };
}

function updated({ entity, metadata, tenantColumn }: TypedEntity): {
  readonly values: RowValues;
  readonly now: readonly string[];
} {
  const columns = metadata.columns.filter(
    (column) =>
      isWritable(column) &&
      column.isUpdate &&
      !column.isPrimary &&
      !column.isVersion &&
      !column.isCreateDate &&
      !column.isUpdateDate &&
      column.propertyPath !== tenantColumn,
  );
  return {
    values: named(columns, (column) => storedValue(entity, column)),
    now: metadata.updateDateColumn ? [metadata.updateDateColumn.databaseName] : [],
  };
}

function condition({ entity, metadata, tenantColumn }: TypedEntity): RowValues {
  const { versionColumn, primaryColumns } = metadata;
  const tenant = metadata.findColumnWithPropertyPath(tenantColumn ?? '');
  const columns = new Set([
    ...primaryColumns,
    ...(tenant ? [tenant] : []),
    ...(versionColumn ? [versionColumn] : []),
  ]);
  return named([...columns], (column) => {
    const value = storedValue(entity, column);
    if (value !== undefined && value !== null) return value;
    throw new ShardingError(
      'invalid_options',
      `${metadata.name} is changed without a value of "${column.propertyPath}": load the row first`,
    );
  });
}

/** A generated UUID is made here, so that events and other rows can name the row before it is written. */
function generateUuid(entity: ObjectLiteral, column: ColumnMetadata): void {
  if (!column.isPrimary || !column.isGenerated || column.generationStrategy !== 'uuid') return;
  if (column.getEntityValue(entity) === undefined) column.setEntityValue(entity, randomUUID());
}

function insertedValue(entity: ObjectLiteral, column: ColumnMetadata): JsonValue | undefined {
  if (column.isDiscriminator) return column.entityMetadata.discriminatorValue ?? null;
  return storedValue(entity, column) ?? (column.isVersion ? 1 : undefined);
}

function storedValue(entity: ObjectLiteral, column: ColumnMetadata): JsonValue | undefined {
  const value: unknown = column.getEntityValue(entity);
  if (typeof value === 'function') {
    throw new ShardingError(
      'invalid_options',
      `"${column.propertyPath}" of ${column.entityMetadata.name} is an SQL expression: a plan takes values`,
    );
  }
  const { driver } = column.entityMetadata.connection;
  const prepared: unknown = driver.preparePersistentValue(value, column);
  if (prepared === undefined) return undefined;
  const json = column.type === 'json' || column.type === 'jsonb';
  if (json && typeof prepared === 'string') return JSON.parse(prepared) as JsonValue;
  return jsonValue(prepared);
}

/** Generated always, or no column of the table. */
function isWritable(column: ColumnMetadata): boolean {
  return !column.isVirtualProperty && column.asExpression === undefined;
}

function named(
  columns: readonly ColumnMetadata[],
  valueOf: (column: ColumnMetadata) => JsonValue | undefined,
): RowValues {
  const values: Record<string, JsonValue> = {};
  for (const column of columns) {
    const value = valueOf(column);
    if (value !== undefined) values[column.databaseName] = value;
  }
  return values;
}

/** What every operation says of the row's class. */
function described({
  name: entity,
  schema,
  tableName: name,
  primaryColumns,
  versionColumn,
}: EntityMetadata): Pick<RowOperation, 'entity' | 'table' | 'key' | 'version'> {
  const key = primaryColumns.map(({ databaseName }) => databaseName);
  return { entity, table: { schema, name }, key, version: versionColumn?.databaseName };
}
