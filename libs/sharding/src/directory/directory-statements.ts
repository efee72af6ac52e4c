import type pg from 'pg';
import type { PinColumns } from './pin.js';

/**
 * The channel on which the triggers of `_sharding_directory` say that something changed. What this session writes, its lease,
 * waits neither long for a lock nor at all for a standby: reading must not suffer from it.
 */
export const LISTEN = `listen _sharding_directory; set lock_timeout = '500ms'; set synchronous_commit = off`;

/** The triggers keep the changes of the last thousand revisions; a reader further behind loads everything. */
export const CHANGES_KEPT = 1000;

/** One page of the directory in the order of its keys. */
export interface PinRow extends PinColumns {
  readonly routing_key: string;
}

export function pageOfPins(after: string | undefined, limit: number): pg.QueryConfig {
  return {
    text: `select routing_key, shard_name, group_id from _sharding_directory
      where $1::text is null or routing_key > $1 order by routing_key limit $2`,
    values: [after, limit],
  };
}

/** One row at least; `changed` is null in it where nothing has. A `bigint` arrives as text. */
export interface ChangeRow extends PinColumns {
  readonly revision: string;
  readonly changes: boolean;
  /** Null with `changes`: everything may have changed. */
  readonly changed: string | null;
  readonly pinned: boolean;
}

/** The revision, and the keys that changed since another with what the directory says of them now: one snapshot. */
export function changesSince(revision: number): pg.QueryConfig {
  return {
    text: `select r.revision, c.revision is not null as changes, c.routing_key as changed,
        d.routing_key is not null as pinned, d.shard_name, d.group_id
      from _sharding_revision r
      left join _sharding_directory_changes c on c.revision > $1
      left join _sharding_directory d on d.routing_key = c.routing_key`,
    values: [revision],
  };
}

/** The revision and all pins: one snapshot, in one statement. One row at least. */
export function wholeDirectory(limit: number): pg.QueryConfig {
  return {
    text: `select r.revision, d.routing_key, d.shard_name, d.group_id
      from _sharding_revision r left join _sharding_directory d on true limit $1`,
    values: [limit],
  };
}

export const REVISION = 'select revision from _sharding_revision';

/** What the directory says of one key, and at which revision. */
export interface FoundRow extends PinColumns {
  readonly revision: string;
  readonly pinned: boolean;
}

export const FIND_PIN = `select r.revision, d.routing_key is not null as pinned, d.shard_name, d.group_id
  from _sharding_revision r left join _sharding_directory d on d.routing_key = $1`;

export const SHARDS_OF_SLOT = `select distinct shard_name from _sharding_directory
  where slot = $1 and shard_name is not null order by shard_name`;

/** Whether there are more rows than `limit`, without counting beyond. */
export function moreThan(limit: number): pg.QueryConfig {
  return {
    text: 'select count(*)::int as count from (select 1 from _sharding_directory limit $1) counted',
    values: [limit + 1],
  };
}
