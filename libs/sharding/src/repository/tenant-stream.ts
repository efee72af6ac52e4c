import { ShardingError } from '@app/routing';
import type { EntityMetadata, FindManyOptions, ObjectLiteral } from 'typeorm';
import type { TenantQueryBuilder } from './tenant-query-builder.js';

/** What `repository.stream` takes. */
export type StreamOptions<E> = Pick<FindManyOptions<E>, 'where' | 'relations' | 'withDeleted'> & {
  /** Rows read at once. Default 500. */
  readonly batchSize?: number;
};

/** Runs one read with find options, and more of a condition. */
export type ReadBatch<E extends ObjectLiteral> = (
  options: FindManyOptions<E>,
  narrow: (query: TenantQueryBuilder<E>) => void,
) => Promise<E[]>;

const DEFAULT_BATCH = 500;

/**
 * All rows in the order of the primary key, a batch at a time: constant memory, and no connection is held while the
 * consumer works. A row that stays is neither skipped nor repeated, whatever is written meanwhile.
 *
 * @throws ShardingError `invalid_options`
 */
export async function* streamByKey<E extends ObjectLiteral>(
  metadata: EntityMetadata,
  { batchSize = DEFAULT_BATCH, ...options }: StreamOptions<E>,
  read: ReadBatch<E>,
): AsyncGenerator<E, void, undefined> {
  if (!Number.isInteger(batchSize) || batchSize < 1) {
    throw new ShardingError('invalid_options', 'batchSize is a whole number of at least 1');
  }
  const keys = metadata.primaryColumns.map(({ propertyPath }) => propertyPath);
  const order = Object.fromEntries(keys.map((key) => [key, 'ASC'])) as never;
  let last: E | undefined;
  for (;;) {
    const behind = last;
    const rows = await read({ ...options, order, take: batchSize }, (query) => {
      if (behind) after(query, metadata, behind);
    });
    yield* rows;
    last = rows.at(-1);
    if (!last || rows.length < batchSize) return;
  }
}

/** By all columns of the key at once, as PostgreSQL compares rows. */
function after<E extends ObjectLiteral>(
  query: TenantQueryBuilder<E>,
  metadata: EntityMetadata,
  row: E,
): void {
  const columns = metadata.primaryColumns.map(({ propertyPath }) => `${query.alias}.${propertyPath}`);
  const names = columns.map((_column, index) => `:sharding_after_${index}`);
  query.andWhere(`(${columns.join(', ')}) > (${names.join(', ')})`);
  metadata.primaryColumns.forEach((column, index) =>
    query.setParameter(`sharding_after_${index}`, column.getEntityValue(row, true) as unknown),
  );
}
