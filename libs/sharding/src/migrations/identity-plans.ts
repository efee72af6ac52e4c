import { ShardingError } from '@app/routing';
import { failureCode } from '../shards/database-failure.js';
import { fanOut } from '../shards/fan-out.js';
import { asking, closed, migrationDatabase } from './migration-session.js';
import { newOrdinals, type IdentityPlan, type RecordedOrdinal } from './identities/assign-ordinals.js';
import type pg from 'pg';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** The plan of a shard that has noted none yet. */
export type IdentityPlans = (shard: string) => Promise<IdentityPlan>;

/**
 * Looks up, and where there is none yet assigns, the ordinals of all shards: once, when the first shard asks. The control
 * database keeps them; without one each shard keeps its own.
 */
export function identityPlans(settings: ShardingSettings): IdentityPlans {
  const { control } = settings;
  let ordinals: Promise<Ordinals> | undefined;
  return async (shard) => {
    ordinals ??= control ? fromControl(settings, control) : fromShards(settings);
    return planOf(shard, await ordinals);
  };
}

interface Ordinals {
  readonly known: readonly RecordedOrdinal[];
  /** Shards that could not be asked for theirs. */
  readonly silent: readonly string[];
}

function planOf(shard: string, { known, silent }: Ordinals): IdentityPlan {
  const found = known.find(({ name }) => name === shard);
  if (found) return { ordinal: found.ordinal, stride: found.stride };
  throw new ShardingError(
    'shard_unavailable',
    `shard "${shard}" has no ordinal for its ids yet, and cannot be given one while ${silent.join(', ')} cannot be asked for theirs`,
  );
}

const RECORDED = 'select shard_name as name, ordinal, stride from _sharding_identities';
const UNDEFINED_TABLE = '42P01';

async function fromControl(settings: ShardingSettings, control: DatabaseSettings): Promise<Ordinals> {
  const names = settings.shards.map(({ name }) => name);
  try {
    const known = await ask(settings, control, (client) =>
      recordedOn(client, names, settings.migrations.identityStride),
    );
    return { known, silent: [] };
  } catch (cause) {
    if (failureCode(cause) !== UNDEFINED_TABLE) throw cause;
    throw new ShardingError(
      'migrations_pending',
      'the control database has no table for the ordinals of the shards: migrate it first',
      { cause },
    );
  }
}

async function recordedOn(
  client: pg.Client,
  names: readonly string[],
  stride: number,
): Promise<RecordedOrdinal[]> {
  const { rows } = await client.query<RecordedOrdinal>(RECORDED);
  if (newOrdinals(names, rows, stride).length === 0) return rows;
  await client.query('begin isolation level read committed');
  await client.query('lock table _sharding_identities in share row exclusive mode'); // somebody may be as fast
  const { rows: known } = await client.query<RecordedOrdinal>(RECORDED);
  const fresh = newOrdinals(names, known, stride);
  for (const { name, ordinal } of fresh) await client.query(RECORD, [name, ordinal, stride]);
  await client.query('commit');
  return [...known, ...fresh];
}

const RECORD = 'insert into _sharding_identities (shard_name, ordinal, stride) values ($1, $2, $3)';

const WIDTH = 16;

/** The row of a shard that is new is written when the shard is migrated. */
async function fromShards(settings: ShardingSettings): Promise<Ordinals> {
  const outcomes = await fanOut(settings.shards, WIDTH, ({ name, primary }) =>
    ask(settings, primary, (client) => ownRow(client, name)),
  );
  const rows = outcomes.flatMap((outcome) => (outcome.ok ? outcome.value : []));
  const silent = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.shard.name]));
  if (silent.length > 0) return { known: rows, silent };
  const names = settings.shards.map(({ name }) => name);
  return { known: [...rows, ...newOrdinals(names, rows, settings.migrations.identityStride)], silent };
}

async function ownRow(client: pg.Client, name: string): Promise<RecordedOrdinal[]> {
  const { rows } = await client.query<{ found: unknown }>(
    `select to_regclass('_sharding_identities') as found`,
  );
  if (rows[0]?.found === null) return [];
  return (await client.query<RecordedOrdinal>(`${RECORDED} where shard_name = $1`, [name])).rows;
}

async function ask<T>(
  settings: ShardingSettings,
  database: DatabaseSettings,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const opened = migrationDatabase(settings, { settings: database });
  try {
    return await asking(opened, 2 * database.connectTimeoutMs, work);
  } finally {
    await closed(opened);
  }
}
