import { tenantColumnOf } from './tenant-conditions.js';
import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js';

/** Types in which two tenants are equal only if their text is, as the repositories compare it. */
const TYPES = new Set('text varchar uuid enum smallint integer bigint'.split(' ')).add('character varying');

/** Why entities could be read or written past their tenant; every reason in one list. */
export function scopeProblems(entities: readonly EntityMetadata[]): string[] {
  const scoped = entities.filter((metadata) => tenantColumnOf(metadata) !== undefined);
  return [
    ...scoped.flatMap(columnProblems),
    ...scoped.flatMap(relationProblems),
    ...entities.flatMap(loadProblems),
    ...tableProblems(entities),
  ];
}

function tenantColumn(metadata: EntityMetadata): ColumnMetadata | undefined {
  return metadata.findColumnWithPropertyPath(tenantColumnOf(metadata) ?? '');
}

/** What is compared and written must be what the routing key says. */
function columnProblems(metadata: EntityMetadata): string[] {
  const column = tenantColumn(metadata);
  const name = `${metadata.name}.${tenantColumnOf(metadata)}`;
  if (!column) return [`${name} is not a column of its own`];
  const type = metadata.connection?.driver.normalizeType(column) ?? String(column.type);
  const twins = metadata.columns.filter(
    (other) => other !== column && other.databaseName === column.databaseName,
  );
  return [
    ...(column.transformer
      ? [`${name} has a transformer: the tenant column stores the routing key as it is`]
      : []),
    ...(!TYPES.has(type) || column.isArray
      ? [
          `${name} is of type ${type}, in which different tenants can be equal: use text, varchar, uuid or an integer`,
        ]
      : []),
    ...(!column.isInsert || column.isVirtual || column.generatedType || column.isGenerated
      ? [`${name} is not written on insert: the tenant column is an ordinary column`]
      : []),
    ...twins.map(
      ({ propertyPath }) => `${metadata.name}.${propertyPath} is the tenant column again: keep one property`,
    ),
  ];
}

function relationProblems(metadata: EntityMetadata): string[] {
  const column = tenantColumn(metadata)?.databaseName;
  const shared = metadata.relations.filter(({ joinColumns }) =>
    joinColumns.some(({ databaseName }) => databaseName === column),
  );
  return [
    ...shared.map(
      ({ propertyName }) =>
        `${metadata.name}.${propertyName}: a relation over the tenant column could name another tenant; give it a column of its own`,
    ),
    ...(metadata.treeType === 'nested-set'
      ? [`${metadata.name}: a nested set renumbers the rows of all tenants; use another kind of tree`]
      : []),
  ];
}

/** TypeORM loads these by itself, unfiltered; a lazy relation on whatever database. */
function loadProblems(metadata: EntityMetadata): string[] {
  const concerned = ({ inverseEntityMetadata }: RelationMetadata) =>
    tenantColumnOf(metadata) ?? tenantColumnOf(inverseEntityMetadata);
  const lazy = metadata.relations.filter((relation) => relation.isLazy && concerned(relation));
  const ids = metadata.relationIds.filter(
    ({ relation }) => !relation.isManyToOne && !relation.isOneToOneOwner && concerned(relation),
  );
  return [
    ...lazy.map(
      ({ propertyName }) =>
        `${metadata.name}.${propertyName}: a lazy relation would be loaded past the tenant; load it with "relations"`,
    ),
    ...ids.map(
      ({ propertyName }) =>
        `${metadata.name}.${propertyName}: @RelationId would load ids past the tenant; use "relations"`,
    ),
  ];
}

/** Two entities of one table must agree whose its rows are. */
function tableProblems(entities: readonly EntityMetadata[]): string[] {
  const owners = new Map<string, EntityMetadata>();
  for (const metadata of entities) {
    if (tenantColumn(metadata)) owners.set(metadata.tablePath, owners.get(metadata.tablePath) ?? metadata);
  }
  return entities.flatMap((metadata) => {
    const owner = owners.get(metadata.tablePath);
    if (!owner || tenantColumn(owner)?.databaseName === tenantColumn(metadata)?.databaseName) return [];
    return [
      `${metadata.name} has the table of ${owner.name} but not its tenant column: decorate both with the same @ShardedEntity`,
    ];
  });
}
