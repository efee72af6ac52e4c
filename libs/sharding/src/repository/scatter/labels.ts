import { ShardingError } from '@app/routing';
import { forgetCatalog } from './catalog.js';
import { UnknownLabel } from './values/key-value.js';
import type { DataSource } from 'typeorm';
import type { ShardRead } from './shard-read.js';
import type { KeyType } from './values/key-type.js';

/** What shards say of their columns does not agree; perhaps only because one answer is older. */
class TypesDiffer extends ShardingError {}

/** Runs `work`, once more where an enum has got labels since the catalog was asked. */
export async function withFreshLabels<T>(read: ShardRead, work: (read: ShardRead) => Promise<T>): Promise<T> {
  try {
    return await work(read);
  } catch (error) {
    if (!(error instanceof UnknownLabel)) throw error;
    forgetCatalog(read.source);
    return work(read);
  }
}

/** Runs `scatter`, once more where shards do not agree about a type: the catalogs have been forgotten then. */
export async function withFreshTypes<T>(scatter: () => Promise<T>): Promise<T> {
  try {
    return await scatter();
  } catch (error) {
    if (!(error instanceof TypesDiffer)) throw error;
    return scatter();
  }
}

/** The types of the same columns, as one shard tells them. */
export interface ToldTypes {
  readonly source: DataSource;
  readonly columns: readonly { readonly path: string; readonly type: KeyType }[];
}

/**
 * Values of an enum are ordered by its labels, so all shards must have the same, in the same order.
 *
 * @throws ShardingError `cross_shard_unsupported`
 */
export function assertSameTypes(told: readonly ToldTypes[]): void {
  const [first, ...others] = told;
  for (const { columns } of others) {
    columns.forEach(({ path, type }, index) => {
      const expected = first?.columns[index]?.type;
      if (expected && sameType(expected, type)) return;
      for (const { source } of told) forgetCatalog(source);
      throw new TypesDiffer(
        'cross_shard_unsupported',
        `${path} is not the same type on all shards (an enum needs the same labels in the same order): migrate them`,
      );
    });
  }
}

function sameType(a: KeyType, b: KeyType): boolean {
  return a.kind === b.kind && a.labels?.join('\n') === b.labels?.join('\n');
}
