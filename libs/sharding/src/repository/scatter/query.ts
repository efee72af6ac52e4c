import type { Condition } from './keyset.js';
import type { ShardRead } from './shard-read.js';
import type {
  EntityMetadata,
  EntityTarget,
  FindManyOptions,
  FindOptionsWhere,
  ObjectLiteral,
  SelectQueryBuilder,
} from 'typeorm';
import type { Shard } from '../../shards/shard.js';

export type Where<E extends ObjectLiteral> = FindOptionsWhere<E> | FindOptionsWhere<E>[];

/** A condition in the words of a query builder: `note.tenantId in (:...moving)`, with its parameters. */
export interface OwnedCondition {
  readonly where: string;
  readonly parameters?: ObjectLiteral;
}

/**
 * Which of its rows a shard owns; undefined: all. Rows that it holds and does not own, as during a move, are left out in
 * SQL. `alias` is the entity's alias in the query.
 */
export type OwnedBy = (shard: Shard, alias: string, entity: EntityMetadata) => OwnedCondition | undefined;

/** Told of each entity that is given out, and the shard that it is of. */
export type LoadedFrom = (entity: object, shard: Shard) => void;

/** What every query of one scatter has in common. */
export interface QueryParts<E extends ObjectLiteral> {
  readonly entity: EntityTarget<E>;
  readonly where?: Where<E> | undefined;
  readonly withDeleted?: boolean | undefined;
  readonly ownedBy?: OwnedBy | undefined;
  readonly loaded?: LoadedFrom | undefined;
}

/** A query on one shard for the rows that it owns and that `where` selects: each once, also where it joins many. */
export function ownRows<E extends ObjectLiteral>(
  read: ShardRead,
  parts: QueryParts<E>,
  options: FindManyOptions<E> = {},
): SelectQueryBuilder<E> {
  const metadata = read.source.getMetadata(parts.entity);
  const { where, withDeleted = false } = parts;
  const many = where !== undefined && joinsMany(where, metadata);
  const query = read.manager.createQueryBuilder(parts.entity, metadata.name);
  query.setFindOptions({
    ...options,
    withDeleted,
    ...(where !== undefined && !many && { where }),
  } as FindManyOptions<E>);
  if (many) restrictToKeys(query, metadata, { where, withDeleted } as FindManyOptions<E>);
  const owned = parts.ownedBy?.(read.shard, metadata.name, metadata);
  if (owned) query.andWhere(`(${owned.where})`, owned.parameters);
  return query;
}

export function restrict<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  { sql, parameters }: Condition,
): void {
  query.andWhere(`(${sql})`, parameters);
}

/** `"Note"."tenant_id"` */
export function quoted(alias: string, databaseName: string): string {
  return [alias, databaseName].map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
}

/** Whether a relation has many rows for one. */
export function isToMany(relation: EntityMetadata['relations'][number] | undefined): boolean {
  return relation !== undefined && (relation.isOneToMany || relation.isManyToMany);
}

/** The rows whose primary key is among those that `where` finds: a join with many would find a row many times. */
function restrictToKeys<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  metadata: EntityMetadata,
  options: FindManyOptions<E>,
): void {
  const alias = 'scatter_filter';
  const of = (name: string) => metadata.primaryColumns.map((column) => quoted(name, column.databaseName));
  const found = query
    .subQuery()
    .from(metadata.target, alias)
    .setFindOptions({ ...options, loadEagerRelations: false } as FindManyOptions)
    .select(of(alias).join(', '));
  query.andWhere(`(${of(metadata.name).join(', ')}) in ${found.getQuery()}`, found.getParameters());
}

function joinsMany(where: unknown, metadata: EntityMetadata, prefix = ''): boolean {
  if (Array.isArray(where)) return where.some((item) => joinsMany(item, metadata, prefix));
  if (typeof where !== 'object' || where === null) return false;
  return Object.entries(where).some(([key, value]) => {
    const path = prefix + key;
    const relation = metadata.findRelationWithPropertyPath(path);
    if (relation) return isToMany(relation) || joinsMany(value, relation.inverseEntityMetadata);
    return (
      metadata.findEmbeddedWithPropertyPath(path) !== undefined && joinsMany(value, metadata, `${path}.`)
    );
  });
}
