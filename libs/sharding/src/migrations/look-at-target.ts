import { assertStride, type IdentityPlan, type RecordedOrdinal } from './identities/assign-ordinals.js';
import { readIdentities } from './identities/read-identities.js';
import { RECORDED } from './identities/recorded.js';
import { IDENTITY_TABLES } from './framework/identity-tables.js';
import { asking } from './asking.js';
import { differenceOf, migrationsTable, readApplied, readOnly, type Applied } from './read-applied.js';
import type pg from 'pg';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationTarget } from './migration-target.js';

/** A target of a call. */
export interface Place {
  readonly target: MigrationTarget;
  readonly settings: ShardingSettings;
}

interface Found {
  readonly applied: Applied;
  /** What the shard has noted under its name. */
  readonly plan: IdentityPlan | undefined;
  readonly misaligned: number;
  /** Whether ordinals are noted: those of all shards on control, its own on a shard. */
  readonly numbered: boolean;
}

/** Whether nothing is to be done there. Decided without the lock; reads only. @throws ShardingError; the driver's error of a statement */
export async function isUpToDate(place: Place): Promise<boolean> {
  const { target, settings } = place;
  const limitMs = 2 * target.settings.connectTimeoutMs;
  const { applied, misaligned, numbered } = await asking(settings, target.settings, {
    limitMs,
    work: (client) => readOnly(client, () => lookAt(client, place)),
  });
  return differenceOf(target, applied).pending.length === 0 && misaligned === 0 && numbered;
}

/** Whether the ids of the shards are set apart from each other: without shards there is nothing to set apart. */
function interleaves({ settings }: Place): boolean {
  return settings.migrations.interleaveIdentities && !settings.unsharded;
}

/** Reads how one target stands to the code. @throws ShardingError `invalid_options` for another stride */
export async function lookAt(client: pg.Client, place: Place): Promise<Found> {
  const { target, settings } = place;
  const table = migrationsTable(settings);
  const applied = await readApplied(client, table);
  if (!interleaves(place)) return { applied, plan: undefined, misaligned: 0, numbered: true };
  const { rows: noted } = applied.framework?.includes(IDENTITY_TABLES)
    ? await client.query<RecordedOrdinal>(RECORDED)
    : { rows: [] };
  const own = (shard: string) => noted.find(({ name }) => name === shard);
  if (target.shard === undefined) {
    const numbered = settings.shards.every(({ name }) => own(name) !== undefined);
    return { applied, plan: undefined, misaligned: 0, numbered };
  }
  const plan = own(target.shard);
  if (!plan) return { applied, plan, misaligned: 0, numbered: false };
  assertStride(target.shard, plan.stride, settings.migrations.identityStride);
  const { misaligned } = await readIdentities(client, plan, table);
  return { applied, plan, misaligned: misaligned.length, numbered: true };
}
