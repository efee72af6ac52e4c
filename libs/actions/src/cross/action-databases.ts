import { ShardingError } from '@app/routing';
import type { ShardDb } from '@app/sharding';
import type { Journal } from './journal.js';

/** The databases of actions over several shards. */
export interface ActionDatabases {
  /** @throws ShardingError `invalid_options` without a control database */
  readonly journal: Journal;
  /** The primary of a shard. @throws ShardingError `unknown_shard`, `shard_unavailable` */
  shard(name: string): Promise<ShardDb>;
}

export function noJournal(): ShardingError {
  return new ShardingError(
    'invalid_options',
    'an action over several shards needs a control database, for its journal: set [database] primary_url',
  );
}
