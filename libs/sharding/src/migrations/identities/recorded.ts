/** All rows: of all shards on the control database, of its own on a shard. */
export const RECORDED =
  'select shard_name as name, ordinal, stride from _sharding_identities order by ordinal';

/** An ordinal that is there already is that of the shard under its former name. */
export const RECORD = `insert into _sharding_identities (shard_name, ordinal, stride) values ($1, $2, $3)
  on conflict (ordinal) do update set shard_name = excluded.shard_name`;
