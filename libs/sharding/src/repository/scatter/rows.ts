import { unsupported } from './catalog.js';
import { keysetCondition } from './keyset.js';
import { keyAlias, keyTexts, orderBy, sortKeys } from './ordering.js';
import { isToMany, ownRows, restrict } from './query.js';
import { keyedRow } from './sort-key.js';
import { textForm } from './values/key-type.js';
import { parameterOf } from './values/key-value.js';
import type { FindManyOptions, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { Position } from './keyset.js';
import type { RowOrder } from './ordering.js';
import type { QueryParts } from './query.js';
import type { ShardRead } from './shard-read.js';
import type { Keyed, SortKey } from './sort-key.js';

/** What to read of every shard. */
export interface RowsRequest<E extends ObjectLiteral> extends QueryParts<E> {
  /** `select`, `relations` and the like: how the entities look. */
  readonly shape: FindManyOptions<E>;
  readonly order: FindManyOptions<E>['order'];
  /** The most rows of a shard. */
  readonly limit?: number | undefined;
  readonly after?: Position | undefined;
}

/** The ordered rows of one shard as a query that has not run. */
export interface RowsPlan<E extends ObjectLiteral> extends RowOrder {
  readonly query: SelectQueryBuilder<E>;
  /** `joined`: the query gives the entities; `by key`: only their keys, as relations with many rows are loaded later. */
  readonly load: 'joined' | 'by key';
}

/** @throws ShardingError `cross_shard_unsupported` */
export async function planRows<E extends ObjectLiteral>(
  read: ShardRead,
  request: RowsRequest<E>,
): Promise<RowsPlan<E>> {
  const { order } = request;
  const shape = withKey(read, request);
  const full = ownRows(read, request, { ...shape, ...(order && { order }) });
  const many = full.expressionMap.joinAttributes.some(({ relation }) => isToMany(relation));
  const query = many ? ownRows(read, request, { ...(order && { order }), loadEagerRelations: false }) : full;
  const { keys, primary } = await sortKeys(read, query);
  if (many) query.select([]);
  orderBy(query, keys);
  if (request.after) restrict(query, keysetCondition(keys, request.after));
  if (request.limit !== undefined) query.limit(request.limit);
  return { keys, primary, query, load: many ? 'by key' : 'joined' };
}

/** The rows of one shard; those that are to be loaded by key are `undefined`. */
export async function readRows<E extends ObjectLiteral>(
  read: ShardRead,
  request: RowsRequest<E>,
): Promise<{ plan: RowsPlan<E>; rows: Keyed<E | undefined>[] }> {
  const plan = await planRows(read, request);
  return { plan, rows: await runPlan(read, plan, request) };
}

/** Runs the query of a plan, or of one that is part of it. */
export async function runPlan<E extends ObjectLiteral>(
  read: ShardRead,
  { keys, query, load }: RowsPlan<E>,
  request: RowsRequest<E>,
): Promise<Keyed<E | undefined>[]> {
  if (load === 'by key') {
    const raw = await query.getRawMany<Record<string, unknown>>();
    return raw.map((row) => keyedRow(keys, keyTexts(row, keys), { shard: read.index, row: undefined }));
  }
  const { raw, entities } = await query.getRawAndEntities<Record<string, unknown>>();
  assertOneEach(raw.length, entities.length, read);
  const shown = shownAs(read, request);
  return raw.map((row, at) =>
    keyedRow(keys, keyTexts(row, keys), { shard: read.index, row: shown(entities[at] as E) }),
  );
}

/** So many primary keys in one statement. */
const CHUNK = 500;

/**
 * Loads rows of one shard with their relations by primary key, in the order of `rows`; one that is gone meanwhile is
 * undefined.
 */
export async function loadRows<E extends ObjectLiteral>(
  read: ShardRead,
  { keys: all, primary }: RowOrder,
  { request, rows }: { readonly request: RowsRequest<E>; readonly rows: readonly Keyed<unknown>[] },
): Promise<(E | undefined)[]> {
  const keys = primary.flatMap((at) => all[at] ?? []);
  const ids = rows.map(({ texts }) => primary.map((at) => texts[at] ?? ''));
  const found = new Map<string, E>();
  for (let from = 0; from < ids.length; from += CHUNK) {
    const wanted = ids.slice(from, from + CHUNK);
    for (const [id, entity] of await loadChunk(read, { request, keys, wanted })) found.set(id, entity);
  }
  return ids.map((id) => found.get(JSON.stringify(id)));
}

interface Chunk<E extends ObjectLiteral> {
  readonly request: RowsRequest<E>;
  readonly keys: readonly SortKey[];
  readonly wanted: readonly string[][];
}

async function loadChunk<E extends ObjectLiteral>(
  read: ShardRead,
  { request, keys, wanted }: Chunk<E>,
): Promise<Map<string, E>> {
  const { entity, withDeleted } = request;
  const query = ownRows(read, { entity, withDeleted }, withKey(read, request));
  keys.forEach(({ sql, type }, index) => query.addSelect(textForm(sql, type.kind), keyAlias(index)));
  const values = wanted.map(
    (_id, row) =>
      `(${keys.map(({ type }, at) => `cast(:scatter_id_${row}_${at} as ${type.sql})`).join(', ')})`,
  );
  const parameters = wanted.flatMap((id, row) =>
    keys.map(({ type }, at) => [`scatter_id_${row}_${at}`, parameterOf(id[at] ?? '', type)] as const),
  );
  query.andWhere(
    `(${keys.map(({ sql }) => sql).join(', ')}) in (${values.join(', ')})`,
    Object.fromEntries(parameters),
  );
  const { raw, entities } = await query.getRawAndEntities<Record<string, unknown>>();
  const ids = [...new Set(raw.map((row) => JSON.stringify(keyTexts(row, keys))))]; // as TypeORM groups them
  assertOneEach(ids.length, entities.length, read);
  const shown = shownAs(read, request);
  return new Map(ids.map((id, index) => [id, shown(entities[index] as E)]));
}

/** With the primary key among the selected columns: TypeORM leaves out rows whose selected columns are all null. */
function withKey<E extends ObjectLiteral>(read: ShardRead, request: RowsRequest<E>): FindManyOptions<E> {
  const { shape, entity } = request;
  if (!shape.select) return shape;
  const missing = unselected(read, request).map((name) => [name, true] as const);
  const embedded = read.source
    .getMetadata(entity)
    .primaryColumns.some(({ embeddedMetadata }) => embeddedMetadata);
  if (embedded) throw unsupported('select is not available for an entity whose primary key is embedded');
  return { ...shape, select: { ...shape.select, ...Object.fromEntries(missing) } } as FindManyOptions<E>;
}

/** Tells of an entity, and takes the primary key out of one that was asked for without it. */
function shownAs<E extends ObjectLiteral>(read: ShardRead, request: RowsRequest<E>): (entity: E) => E {
  const hidden = unselected(read, request);
  return (entity) => {
    request.loaded?.(entity, read.shard);
    for (const name of hidden) delete entity[name as keyof E];
    return entity;
  };
}

function unselected<E extends ObjectLiteral>(read: ShardRead, { entity, shape }: RowsRequest<E>): string[] {
  const select = shape.select as Record<string, unknown> | undefined;
  if (!select) return [];
  const { primaryColumns } = read.source.getMetadata(entity);
  return primaryColumns.map(({ propertyName }) => propertyName).filter((name) => select[name] !== true);
}

function assertOneEach(rows: number, entities: number, read: ShardRead): void {
  if (rows === entities) return;
  throw unsupported(
    `TypeORM cannot tell ${rows} rows of shard "${read.shard.name}" apart: it made ${entities} entities of them`,
  );
}
