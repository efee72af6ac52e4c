import { catalogColumn, unsupported } from '../catalog.js';
import { ownRows, quoted } from '../query.js';
import { textForm } from '../values/key-type.js';
import { keyValue } from '../values/key-value.js';
import { isDefined, partialSql } from './aggregates.js';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { QueryParts } from '../query.js';
import type { ShardRead } from '../shard-read.js';
import type { KeyType } from '../values/key-type.js';
import type { Aggregate, AggregateName } from './aggregates.js';
import type { Group, GroupForm } from './merge-groups.js';

/** The most groups, and the most distinct values, that are merged: beyond it the query is refused. */
export const MAX_GROUPS = 100_000;

/** What is asked for, by property path; `*` counts rows. */
export interface GroupsRequest<E extends ObjectLiteral> extends QueryParts<E> {
  readonly columns: readonly string[];
  readonly aggregates: readonly { readonly name: AggregateName; readonly of: string }[];
}

/** A distinct value of one group. */
export interface DistinctValue {
  readonly key: readonly (string | null)[];
  readonly text: string;
}

/** The groups of one shard. */
export interface ShardGroups {
  readonly form: GroupForm;
  readonly groups: readonly Group[];
  /** For each `countDistinct`, by its place among the aggregates. */
  readonly distinct: ReadonlyMap<number, readonly DistinctValue[]>;
}

interface Columns {
  readonly grouped: readonly { readonly sql: string; readonly type: KeyType }[];
  readonly aggregates: readonly Aggregate[];
}

/** @throws ShardingError `cross_shard_unsupported` */
export async function readGroups<E extends ObjectLiteral>(
  read: ShardRead,
  request: GroupsRequest<E>,
): Promise<ShardGroups> {
  const columns = await columnsOf(read, request);
  const { grouped, aggregates } = columns;
  const form = { columns: grouped.map(({ type }) => type), aggregates };
  const groups = await groupsOf(groupQuery(read, request, columns), form);
  assertLabels(form, groups);
  const distinct = new Map<number, DistinctValue[]>();
  for (const [index, aggregate] of aggregates.entries()) {
    if (aggregate.name !== 'countDistinct') continue;
    distinct.set(
      index,
      await distinctOf(distinctQuery(read, request, { columns, aggregate }), grouped.length),
    );
  }
  return { form, groups, distinct };
}

/** The SQL of one shard's groups. */
export async function explainGroups<E extends ObjectLiteral>(
  read: ShardRead,
  request: GroupsRequest<E>,
): Promise<string> {
  return groupQuery(read, request, await columnsOf(read, request)).getQuery();
}

async function columnsOf<E extends ObjectLiteral>(
  read: ShardRead,
  request: GroupsRequest<E>,
): Promise<Columns> {
  const grouped: Columns['grouped'][number][] = [];
  for (const path of request.columns) grouped.push(await columnAt(read, request, path));
  const aggregates: Aggregate[] = [];
  for (const { name, of } of request.aggregates) {
    const aggregate = of === '*' ? { name } : { name, of: await columnAt(read, request, of) };
    if (!isDefined(aggregate) || (of === '*' && name !== 'count')) {
      throw unsupported(`there is no ${name} of ${of}: it is no number`);
    }
    aggregates.push(aggregate);
  }
  return { grouped, aggregates };
}

async function columnAt<E extends ObjectLiteral>(read: ShardRead, { entity }: QueryParts<E>, path: string) {
  const metadata = read.source.getMetadata(entity);
  const column = metadata.findColumnWithPropertyPath(path);
  if (!column || column.isVirtualProperty)
    throw unsupported(`${metadata.name}.${path} is no column of its table`);
  const { type } = await catalogColumn(read, column);
  return { sql: quoted(metadata.name, column.databaseName), type };
}

function groupQuery<E extends ObjectLiteral>(
  read: ShardRead,
  request: GroupsRequest<E>,
  { grouped, aggregates }: Columns,
): SelectQueryBuilder<E> {
  const query = grouping(read, request, grouped);
  aggregates.forEach((aggregate, index) =>
    partialSql(aggregate).forEach((sql, part) => query.addSelect(sql, `scatter_a${index}_${part}`)),
  );
  if (grouped.length === 0) query.addSelect('count(*)', 'scatter_all'); // one row, also where there is none
  return query.limit(MAX_GROUPS + 1);
}

function distinctQuery<E extends ObjectLiteral>(
  read: ShardRead,
  request: GroupsRequest<E>,
  { columns, aggregate }: { readonly columns: Columns; readonly aggregate: Aggregate },
): SelectQueryBuilder<E> {
  const query = grouping(read, request, columns.grouped);
  const { of } = aggregate;
  if (!of) return query;
  query.addSelect(textForm(of.sql, of.type.kind), 'scatter_value').addGroupBy(of.sql);
  return query.andWhere(`${of.sql} is not null`).limit(MAX_GROUPS + 1);
}

function grouping<E extends ObjectLiteral>(
  read: ShardRead,
  request: GroupsRequest<E>,
  grouped: Columns['grouped'],
): SelectQueryBuilder<E> {
  const query = ownRows(read, request, { loadEagerRelations: false });
  query.orderBy().setOption('disable-global-order').select([]);
  grouped.forEach(({ sql, type }, index) => {
    query.addSelect(textForm(sql, type.kind), `scatter_g${index}`).addGroupBy(sql);
  });
  return query;
}

/** @throws UnknownLabel */
function assertLabels({ columns, aggregates }: GroupForm, groups: readonly Group[]): void {
  const assertKnown = (text: string | null | undefined, type: KeyType | undefined) => {
    if (type?.kind === 'enum' && typeof text === 'string') keyValue(text, type);
  };
  for (const { key, partials } of groups) {
    key.forEach((text, index) => assertKnown(text, columns[index]));
    aggregates.forEach(({ name, of }, index) => {
      if (name === 'minimum' || name === 'maximum') assertKnown(partials[index]?.[0], of?.type);
    });
  }
}

type Raw = Record<string, string | null>;

async function groupsOf<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  { columns, aggregates }: GroupForm,
): Promise<Group[]> {
  const rows = await query.getRawMany<Raw>();
  assertBounded(rows.length, 'groups');
  return rows.map((row) => ({
    key: keyOf(row, columns.length),
    partials: aggregates.map((_aggregate, index) => [
      row[`scatter_a${index}_0`] ?? null,
      row[`scatter_a${index}_1`] ?? null,
    ]),
  }));
}

async function distinctOf<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  columns: number,
): Promise<DistinctValue[]> {
  const rows = await query.getRawMany<Raw>();
  assertBounded(rows.length, 'distinct values');
  return rows.map((row) => ({ key: keyOf(row, columns), text: row['scatter_value'] ?? '' }));
}

function keyOf(row: Raw, columns: number): (string | null)[] {
  return Array.from({ length: columns }, (_, index) => row[`scatter_g${index}`] ?? null);
}

/** @throws ShardingError `cross_shard_unsupported` */
export function assertBounded(found: number, what: 'groups' | 'distinct values'): void {
  if (found <= MAX_GROUPS) return;
  throw unsupported(
    `the answer has more than ${MAX_GROUPS} ${what}: narrow it with a where, or aggregate on each shard with Shards.each`,
  );
}
