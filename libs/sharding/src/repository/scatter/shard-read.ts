import { connectedRunner } from '../../shards/shard-runner.js';
import { transact } from '../../shards/transact.js';
import type { DataSource, EntityManager } from 'typeorm';
import type { Database } from '../../shards/database.js';
import type { Shard } from '../../shards/shard.js';
import type { Transaction, TxOptions } from '../../shards/transaction.js';

/** Which databases serve the reads: as each shard's policy says, or its primary. */
export type ScatterReads = 'policy' | 'primary';

/** One shard while it is read: the database that serves this read. */
export interface ShardRead {
  readonly shard: Shard;
  /** By declaration order. */
  readonly index: number;
  readonly source: DataSource;
  readonly database: Database;
  /** Of the source, or of the transaction that the read is part of. */
  readonly manager: EntityManager;
}

/** Runs `work` on the database of `shard` that serves the read; it may run once more, on the primary: it must only read. */
export async function readShard<T>(
  shard: Shard,
  place: { readonly index: number; readonly reads: ScatterReads },
  work: (read: ShardRead) => Promise<T>,
): Promise<T> {
  const { index } = place;
  const on = (source: DataSource, database: Database) =>
    work({ shard, index, source, database, manager: source.manager });
  if (place.reads === 'policy') return shard.reads.run('policy', on);
  const { database } = shard;
  return on(database.opened ?? (await database.open()), database);
}

/** One READ ONLY transaction on the database that serves the read. */
export function readTransaction<T>(
  { shard, source, database }: ShardRead,
  options: TxOptions,
  work: (level: Transaction) => Promise<T>,
): Promise<T> {
  const place = { shard, database, open: () => connectedRunner(source) };
  return transact(place, { ...options, readOnly: true }, work);
}
