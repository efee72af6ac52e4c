import { ShardingError } from '@app/routing';
import type { ObjectLiteral } from 'typeorm';
import type { TenantQueryBuilder } from './tenant-query-builder.js';

export type AggregateName = 'sum' | 'avg' | 'min' | 'max';

/**
 * One aggregate over the rows of a query, as TypeORM gives it: a number, so bigint and numeric may lose digits; null of
 * nothing.
 *
 * @throws ShardingError `invalid_options` for a column that the entity does not have
 */
export async function aggregateOf<E extends ObjectLiteral>(
  query: TenantQueryBuilder<E>,
  name: AggregateName,
  column: string,
): Promise<number | null> {
  const metadata = query.expressionMap.mainAlias?.metadata;
  if (!metadata?.findColumnWithPropertyPath(column)) {
    throw new ShardingError('invalid_options', `${metadata?.name} has no column "${column}"`);
  }
  const row = await query
    .select(`${name}(${query.alias}.${column})`, 'value')
    .getRawOne<{ value: string | number | null }>();
  return row?.value === null || row?.value === undefined ? null : Number(row.value);
}
