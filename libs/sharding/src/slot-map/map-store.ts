import type pg from 'pg';
import type { MappedShard, MapVersion, VerifiedMove } from './mapped-shard.js';

interface MapRow extends MappedShard {
  readonly version: number;
  readonly recordedAt: number;
}

/** Times as numbers, exact to the microsecond, which a `Date` is not. */
const versions = (where: string) => `
  select version, shard_name as name, group_id as "group", member, slots, auto_split as "autoSplit",
    extract(epoch from recorded_at)::float8 as "recordedAt"
  from _sharding_map ${where}
  order by version desc, group_id, member, shard_name`;

/** The newest version; undefined before the first boot. */
export async function newestVersion(client: pg.Client): Promise<MapVersion | undefined> {
  const { rows } = await client.query<MapRow>(
    versions('where version = (select max(version) from _sharding_map)'),
  );
  return byVersion(rows)[0];
}

/** Every version, newest first. */
export async function allVersions(client: pg.Client): Promise<MapVersion[]> {
  const { rows } = await client.query<MapRow>(versions(''));
  return byVersion(rows);
}

/** The moves since the slot map is remembered, in the order in which they were verified. */
export async function verifiedMoves(client: pg.Client): Promise<VerifiedMove[]> {
  const { rows } = await client.query<VerifiedMove>(`
    select group_id as "group", source, destination, slots, extract(epoch from verified_at)::float8 as "verifiedAt"
    from _sharding_slot_moves where verified_at > (select min(recorded_at) from _sharding_map)
    order by verified_at, id`);
  return rows;
}

function byVersion(rows: readonly MapRow[]): MapVersion[] {
  const versionsOf = new Map<number, { version: number; recordedAt: number; shards: MapRow[] }>();
  for (const row of rows) {
    const { version, recordedAt } = row;
    const known = versionsOf.get(version);
    if (known) known.shards.push(row);
    else versionsOf.set(version, { version, recordedAt, shards: [row] });
  }
  return [...versionsOf.values()];
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
