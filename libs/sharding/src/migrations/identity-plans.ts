import { ShardingError } from '@app/routing';
import { failureCode } from '../shards/database-failure.js';
import { fanOut } from '../shards/fan-out.js';
import { asking } from './asking.js';
import {
  numberShards,
  type IdentityPlan,
  type Numbering,
  type RecordedOrdinal,
} from './identities/assign-ordinals.js';
import { RECORD, RECORDED } from './identities/recorded.js';
import type pg from 'pg';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** The ordinals of all shards: looked up once, when somebody first asks. */
export interface IdentityPlans {
  /** The plan of a shard that has noted none under its name. @throws ShardingError */
  planOf(shard: string): Promise<IdentityPlan>;
  /** Lets the control database know all of them that can be known now. @throws ShardingError */
  settle(): Promise<void>;
}

/**
 * Looks up, and where there is none yet assigns, the ordinals of all shards. What the shards have recorded comes first; the
 * control database keeps all of them, without one each shard keeps its own.
 */
export function identityPlans(settings: ShardingSettings): IdentityPlans {
  const { control } = settings;
  let numbering: Promise<Numbering> | undefined;
  const all = () => (numbering ??= control ? throughControl(settings, control) : fromShards(settings));
  return {
    planOf: async (shard) => planOf(shard, await all()),
    settle: async () => void (await all()),
  };
}

function planOf(shard: string, { known, silent }: Numbering): IdentityPlan {
  const found = known.find(({ name }) => name === shard);
  if (found) return { ordinal: found.ordinal, stride: found.stride };
  throw new ShardingError(
    'shard_unavailable',
    `shard "${shard}" has no ordinal for its ids yet, and cannot be given one while ${silent.join(', ')} cannot be asked for theirs`,
  );
}

const UNDEFINED_TABLE = '42P01';

async function throughControl(settings: ShardingSettings, control: DatabaseSettings): Promise<Numbering> {
  const shards = await askShards(settings);
  try {
    return await ask(settings, control, (client) => settledOn(client, settings, shards));
  } catch (cause) {
    if (failureCode(cause) !== UNDEFINED_TABLE) throw cause;
    throw new ShardingError(
      'migrations_pending',
      'the control database has no table for the ordinals of the shards: migrate it first',
      { cause },
    );
  }
}

/** One transaction. */
async function settledOn(client: pg.Client, settings: ShardingSettings, shards: Answers): Promise<Numbering> {
  await client.query('begin isolation level read committed');
  await client.query('lock table _sharding_identities in share row exclusive mode'); // somebody may be as fast
  const { rows: control } = await client.query<RecordedOrdinal>(RECORDED);
  const numbering = numberShards(namesOf(settings), { control, shards }, settings.migrations.identityStride);
  for (const { name, ordinal, stride } of numbering.known) {
    if (!control.some((row) => row.name === name)) await client.query(RECORD, [name, ordinal, stride]);
  }
  await client.query('commit');
  return numbering;
}

/** The row of a shard that is new is written when the shard is migrated. */
async function fromShards(settings: ShardingSettings): Promise<Numbering> {
  const shards = await askShards(settings);
  return numberShards(namesOf(settings), { control: [], shards }, settings.migrations.identityStride);
}

const namesOf = ({ shards }: ShardingSettings) => shards.map(({ name }) => name);

/** What each shard that could be asked has recorded, by its name. */
type Answers = ReadonlyMap<string, readonly RecordedOrdinal[]>;

const WIDTH = 16;

async function askShards(settings: ShardingSettings): Promise<Answers> {
  const outcomes = await fanOut(settings.shards, WIDTH, ({ primary }) =>
    ask(settings, primary, recordedThere),
  );
  return new Map(
    outcomes.flatMap((outcome) => (outcome.ok ? [[outcome.shard.name, outcome.value] as const] : [])),
  );
}

async function recordedThere(client: pg.Client): Promise<RecordedOrdinal[]> {
  const { rows } = await client.query<{ found: unknown }>(
    `select to_regclass('_sharding_identities') as found`,
  );
  return rows[0]?.found === null ? [] : (await client.query<RecordedOrdinal>(RECORDED)).rows;
}

function ask<T>(
  settings: ShardingSettings,
  database: DatabaseSettings,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return asking(settings, database, { limitMs: 2 * database.connectTimeoutMs, work });
}
