/** Sets who and why for the log of this transaction. */
export const SIGN = `select set_config('sharding.actor', $1, true), set_config('sharding.reason', $2, true)`;

export const SIGNED = `select coalesce(current_setting('sharding.actor', true), '') as actor,
  coalesce(current_setting('sharding.reason', true), '') as reason`;

/** Pins a key that belongs to group $4 also without a row. Nothing is returned where its row says another group. */
export const PIN = `insert into _sharding_directory as d (routing_key, shard_name, note) values ($1, $2, $3)
  on conflict (routing_key) do update set shard_name = excluded.shard_name, note = coalesce(excluded.note, d.note)
  where coalesce(d.group_id, $4::smallint) = $4::smallint
  returning routing_key`;

/** Pins a key that only its row can put into group $4. */
export const PIN_PLACED = `update _sharding_directory set shard_name = $2, note = coalesce($3, note)
  where routing_key = $1 and group_id = $4::smallint returning routing_key`;

/** A key that is in a group keeps its row. */
export const UNPIN_PLACED = `update _sharding_directory set shard_name = null, note = coalesce($2, note)
  where routing_key = $1 and shard_name is not null and group_id is not null returning routing_key`;

export const UNPIN = `delete from _sharding_directory
  where routing_key = $1 and group_id is null returning routing_key`;

/** Puts a key into a group. Nothing is returned where it is in another one, or pinned to a shard not among $4. */
export const PLACE = `insert into _sharding_directory as d (routing_key, group_id, note) values ($1, $2, $3)
  on conflict (routing_key) do update set group_id = excluded.group_id, note = coalesce(excluded.note, d.note)
  where coalesce(d.group_id, excluded.group_id) = excluded.group_id
    and (d.shard_name is null or d.shard_name = any($4::text[]))
  returning routing_key`;

export const LIST = `select routing_key, shard_name, group_id, note, updated_at from _sharding_directory
  where $1::text is null or routing_key > $1 order by routing_key limit $2`;
