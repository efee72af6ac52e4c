import { setTimeout as pause } from 'node:timers/promises';
import { hasTable } from './catalog/has-table.js';
import type { Look, Read } from './look.js';

/** Rows of the directory that say the same. */
export interface PinGroup {
  readonly shard: string | undefined;
  readonly group: number | undefined;
  readonly count: number;
  /** The first few of their keys. */
  readonly keys: readonly string[];
}

/** A process whose lease is valid. */
interface LivingProcess {
  readonly id: string;
  readonly name: string;
  readonly revision: number;
}

export interface DirectoryFacts {
  /** Undefined: its row is missing. */
  readonly revision: number | undefined;
  readonly pins: readonly PinGroup[];
  /** Triggers that are switched off. */
  readonly silenced: readonly string[];
  /** Processes that have not seen a revision which was there a while before. */
  readonly behind: readonly (Omit<LivingProcess, 'id'> & { readonly wanted: number })[];
}

/** A process confirms a change within a few hundred milliseconds. */
const CONFIRM_MS = 1500;

/** Undefined where there is no directory. */
export async function readDirectory(look: Look): Promise<DirectoryFacts | undefined> {
  if (!(await look.read(hasDirectory))) return undefined;
  const revision = await look.read(revisionOf);
  const late = new Set(behind(await look.read(processes), revision).map(({ id }) => id));
  if (late.size > 0) await pause(CONFIRM_MS);
  const still = late.size > 0 ? behind(await look.read(processesAgain), revision) : [];
  return {
    revision,
    pins: await look.read(pinGroups),
    silenced: await look.read(silencedTriggers),
    behind: still
      .filter(({ id }) => late.has(id))
      .map(({ name, revision: its }) => ({ name, revision: its, wanted: revision ?? 0 })),
  };
}

function behind(living: readonly LivingProcess[], revision: number | undefined): LivingProcess[] {
  return living.filter((one) => revision !== undefined && one.revision < revision);
}

const hasDirectory: Read<boolean> = (client) => hasTable(client, '_sharding_directory');

const revisionOf: Read<number | undefined> = async (client) => {
  const { rows } = await client.query<{ revision: string }>('select revision from _sharding_revision');
  return rows[0] && Number(rows[0].revision);
};

const processes: Read<LivingProcess[]> = async (client) => {
  const { rows } = await client.query<{ id: string; name: string; revision: string }>(
    `select process_id::text as id, name, revision from _sharding_processes where lease_until > now() order by name`,
  );
  return rows.map(({ revision, ...rest }) => ({ ...rest, revision: Number(revision) }));
};

/** Another question, which is not answered from memory. */
const processesAgain: Read<LivingProcess[]> = (client) => processes(client);

const pinGroups: Read<PinGroup[]> = async (client) => {
  const { rows } = await client.query<{
    shard: string | null;
    group: number | null;
    count: number;
    keys: string[];
  }>(`
    select shard_name as shard, group_id as "group", count(*)::int as count,
      (array_agg(routing_key order by routing_key))[1:3] as keys
    from _sharding_directory group by 1, 2 order by 1, 2`);
  return rows.map(({ shard, group, ...rest }) => ({
    ...rest,
    shard: shard ?? undefined,
    group: group ?? undefined,
  }));
};

const silencedTriggers: Read<string[]> = async (client) => {
  const { rows } = await client.query<{ name: string }>(
    `select tgname::text as name from pg_trigger
      where tgrelid = '_sharding_directory'::regclass and not tgisinternal and tgenabled = 'D' order by 1`,
  );
  return rows.map(({ name }) => name);
};
