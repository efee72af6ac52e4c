import type pg from 'pg';
import type { MappedShard, MapVersion, VerifiedMove } from './mapped-shard.js';

interface MapRow extends MappedShard {
  readonly version: number;
}

/** The newest version; undefined before the first boot. */
export async function newestVersion(client: pg.Client): Promise<MapVersion | undefined> {
  const { rows } = await client.query<MapRow>(`
    select version, shard_name as name, group_id as "group", member, slots, auto_split as "autoSplit"
    from _sharding_map where version = (select max(version) from _sharding_map)
    order by group_id, member, shard_name`);
  const [first] = rows;
  return first && { version: first.version, shards: rows };
}

/** The moves verified since the version was recorded. */
export async function verifiedSince(client: pg.Client, version: number): Promise<VerifiedMove[]> {
  const { rows } = await client.query<VerifiedMove>(
    `select group_id as "group", source, destination, slots from _sharding_slot_moves
      where verified_at > (select max(recorded_at) from _sharding_map where version = $1)`,
    [version],
  );
  return rows;
}

export async function recordVersion(
  client: pg.Client,
  version: number,
  shards: readonly MappedShard[],
): Promise<void> {
  await client.query(
    `insert into _sharding_map (version, shard_name, group_id, member, slots, auto_split)
      select $1::int, * from unnest($2::text[], $3::smallint[], $4::smallint[], $5::text[], $6::boolean[])`,
    [
      version,
      shards.map(({ name }) => name),
      shards.map(({ group }) => group),
      shards.map(({ member }) => member),
      shards.map(({ slots }) => slots),
      shards.map(({ autoSplit }) => autoSplit),
    ],
  );
}

/** Until the end of the transaction: who records a version waits for whoever does so now. */
export async function lockMap(client: pg.Client, limitMs: number): Promise<void> {
  await client.query(`select set_config('lock_timeout', $1, true)`, [`${limitMs}ms`]);
  await client.query(`select pg_advisory_xact_lock(hashtextextended('_sharding_map', 0))`);
}
