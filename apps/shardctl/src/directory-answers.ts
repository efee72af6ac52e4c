import { askTarget } from './ask-target.js';
import { failureOf, type Failure } from './failure.js';
import { controlTarget } from './targets.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { FoundRow } from '@app/sharding/operator';
import type { AskedKey, PinFound } from './placement.js';
import type { Client } from 'pg';

/** What the directory says of the keys that were asked. */
export interface DirectoryAnswers {
  /** `off`: the configuration does not route by it. */
  readonly state: 'off' | 'asked' | 'unavailable';
  readonly error: Failure | null;
  readonly pins: ReadonlyMap<string, PinFound>;
  readonly shardsOfSlots: ReadonlyMap<number, readonly string[]>;
}

const LIMIT_MS = 2000;
const SILENT = { error: null, pins: new Map<never, never>(), shardsOfSlots: new Map<never, never>() };

/** Asks the directory of the control database, where the configuration routes by it; never rejects but when interrupted. */
export async function askDirectory(
  settings: ShardingSettings,
  questions: { readonly keys: readonly AskedKey[]; readonly slots: readonly number[] },
  signal: AbortSignal,
): Promise<DirectoryAnswers> {
  const texts = questions.keys.filter(({ kind }) => kind === 'text').map(({ text }) => text);
  if (!settings.directory.enabled) return { state: 'off', ...SILENT };
  if (texts.length + questions.slots.length === 0) return { state: 'asked', ...SILENT };
  try {
    return await askTarget(controlTarget(settings), { limitMs: LIMIT_MS, signal }, async (client) => ({
      state: 'asked',
      error: null,
      pins: await pinsOf(client, texts),
      shardsOfSlots: await shardsOf(client, questions.slots),
    }));
  } catch (error) {
    signal.throwIfAborted();
    return { state: 'unavailable', ...SILENT, error: withoutTables(failureOf(error)) };
  }
}

async function pinsOf(client: Client, keys: readonly string[]): Promise<Map<string, PinFound>> {
  const { FIND_PIN } = await import('@app/sharding/operator');
  const pins = new Map<string, PinFound>();
  for (const key of keys) {
    const { rows } = await client.query<FoundRow>(FIND_PIN, [key]);
    const [row] = rows;
    if (row?.pinned) pins.set(key, { shard: row.shard_name ?? undefined, group: row.group_id ?? undefined });
  }
  return pins;
}

async function shardsOf(client: Client, slots: readonly number[]): Promise<Map<number, string[]>> {
  const { SHARDS_OF_SLOT } = await import('@app/sharding/operator');
  const shards = new Map<number, string[]>();
  for (const slot of slots) {
    const { rows } = await client.query<{ shard_name: string }>(SHARDS_OF_SLOT, [slot]);
    shards.set(
      slot,
      rows.map((row) => row.shard_name),
    );
  }
  return shards;
}

/** The control database answers and has no directory. */
function withoutTables(failure: Failure): Failure {
  if (failure.code !== '42P01') return failure;
  return { code: 'migrations_pending', message: 'the control database has no directory: run the migrations' };
}
