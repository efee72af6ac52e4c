import { catalogColumn, unsupported } from './catalog.js';
import { isToMany, quoted } from './query.js';
import { defaultNulls } from './sort-key.js';
import { ordered, textForm } from './values/key-type.js';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ShardRead } from './shard-read.js';
import type { Direction, NullsPlace, SortKey } from './sort-key.js';

/** What TypeORM has made of one entry of `order`. */
type OrderValue = 'ASC' | 'DESC' | { readonly order: Direction; readonly nulls?: string };

interface OrderColumn {
  readonly alias: string;
  readonly column: ColumnMetadata;
  /** Null where a relation has no row. */
  readonly joined: boolean;
}

/** The order of one shard's rows. */
export interface RowOrder {
  readonly keys: readonly SortKey[];
  /** Where the columns of the primary key are among the keys. */
  readonly primary: readonly number[];
}

/**
 * The keys of a query's order, completed by the primary key: no two rows of a shard are equal in it.
 *
 * @throws ShardingError `cross_shard_unsupported` for types without an order here, virtual columns, to-many relations
 */
export async function sortKeys<E extends ObjectLiteral>(
  read: ShardRead,
  query: SelectQueryBuilder<E>,
): Promise<RowOrder> {
  const { allOrderBys, mainAlias } = query.expressionMap;
  const keys: SortKey[] = [];
  for (const [name, value] of Object.entries(allOrderBys as Record<string, OrderValue>)) {
    keys.push(await keyOf(read, orderColumn(query, name), value));
  }
  const { name: alias = '', metadata } = mainAlias ?? {};
  if (!metadata || metadata.primaryColumns.length === 0) {
    throw unsupported(`${alias} has no primary key, which completes the order across shards`);
  }
  const primary: number[] = [];
  for (const column of metadata.primaryColumns) {
    const key = await keyOf(read, { alias, column, joined: false }, 'ASC');
    const at = keys.findIndex(({ sql }) => sql === key.sql);
    primary.push(at < 0 ? keys.push(key) - 1 : at);
  }
  return { keys, primary };
}

/** Orders the query by the keys, and selects their text forms under {@link keyAlias}. */
export function orderBy<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  keys: readonly SortKey[],
): void {
  query.orderBy();
  keys.forEach(({ sql, type, direction, nulls, nullable }, index) => {
    const unusual = nullable && nulls !== defaultNulls(direction); // an index serves the usual order
    const place = nulls === 'first' ? 'NULLS FIRST' : 'NULLS LAST';
    query.addOrderBy(ordered(sql, type.kind), direction, unusual ? place : undefined);
    query.addSelect(textForm(sql, type.kind), keyAlias(index));
  });
}

export function keyAlias(index: number): string {
  return `scatter_k${index}`;
}

/** The text forms of a raw row. */
export function keyTexts(raw: Record<string, unknown>, keys: readonly SortKey[]): (string | null)[] {
  return keys.map((_key, index) => (raw[keyAlias(index)] ?? null) as string | null);
}

async function keyOf(read: ShardRead, of: OrderColumn, value: OrderValue): Promise<SortKey> {
  const { alias, column, joined } = of;
  const { type, nullable } = await catalogColumn(read, column);
  const direction = typeof value === 'string' ? value : value.order;
  return {
    sql: quoted(alias, column.databaseName),
    path: column.propertyPath,
    type,
    nullable: joined || nullable,
    direction,
    nulls: nullsOf(value) ?? defaultNulls(direction),
  };
}

function nullsOf(value: OrderValue): NullsPlace | undefined {
  if (typeof value === 'string' || value.nulls === undefined) return undefined;
  return value.nulls === 'NULLS FIRST' ? 'first' : 'last';
}

function orderColumn<E extends ObjectLiteral>(query: SelectQueryBuilder<E>, name: string): OrderColumn {
  const { aliases, mainAlias } = query.expressionMap;
  const alias = aliases
    .filter((candidate) => candidate.hasMetadata && name.startsWith(`${candidate.name}.`))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
  const column = alias?.metadata.findColumnWithPropertyPath(name.slice(alias.name.length + 1));
  if (!alias || !column || column.isVirtualProperty) {
    throw unsupported(`the order by ${name} is by no column of a table`);
  }
  assertToOne(query, alias.name);
  return { alias: alias.name, column, joined: alias !== mainAlias };
}

function assertToOne<E extends ObjectLiteral>(query: SelectQueryBuilder<E>, alias: string): void {
  const join = query.expressionMap.joinAttributes.find((candidate) => candidate.alias.name === alias);
  if (!join) return;
  if (isToMany(join.relation)) {
    throw unsupported(`an order by ${join.relation?.propertyPath}, which has many rows for one, is no order`);
  }
  if (join.parentAlias !== undefined) assertToOne(query, join.parentAlias);
}
