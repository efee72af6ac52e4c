import { askPlace } from './ask-place.js';
import { failureOf, type Failure } from './failure.js';
import type { ShardingError } from '@app/routing';
import type { ShardingSettings } from '@app/sharding/config';
import type { FoundRow, Pin, PinVerdict } from '@app/sharding/operator';
import type { AskedKey, PlacementRules } from './placement.js';
import type { Client } from 'pg';

/** What the directory says of one key. */
export interface KeyAnswer {
  /** Undefined: it has no row. */
  readonly row: { readonly pin: Pin; readonly verdict: PinVerdict } | undefined;
  /** Why the key is refused whatever the slot map says. */
  readonly refusal: ShardingError | undefined;
}

/** What the directory says of the keys that were asked. */
export interface DirectoryAnswers {
  /** `off`: the configuration does not route by it. */
  readonly state: 'off' | 'asked' | 'unavailable';
  readonly error: Failure | null;
  readonly answers: ReadonlyMap<string, KeyAnswer>;
  readonly shardsOfSlots: ReadonlyMap<number, readonly string[]>;
}

export interface DirectoryQuestions {
  readonly keys: readonly AskedKey[];
  readonly slots: readonly number[];
  readonly rules: PlacementRules;
}

const LIMIT_MS = 2000;
const SILENT = { error: null, answers: new Map<never, never>(), shardsOfSlots: new Map<never, never>() };

/** Asks the directory of the control database, where the configuration routes by it; never rejects but when interrupted. */
export async function askDirectory(
  settings: ShardingSettings,
  { keys, slots, rules }: DirectoryQuestions,
  signal: AbortSignal,
): Promise<DirectoryAnswers> {
  const texts = keys.filter(({ kind }) => kind === 'text').map(({ text }) => text);
  if (!settings.directory.enabled) return { state: 'off', ...SILENT };
  if (texts.length + slots.length === 0) return { state: 'asked', ...SILENT };
  const { controlPlace, noDirectory } = await import('@app/sharding/operator');
  try {
    return await askPlace(controlPlace(settings), { limitMs: LIMIT_MS, signal }, async (client) => ({
      state: 'asked',
      error: null,
      answers: await answersOf(client, texts, rules),
      shardsOfSlots: await shardsOf(client, slots),
    }));
  } catch (error) {
    signal.throwIfAborted();
    const refusal = noDirectory(failureOf(error).code, error);
    return { state: 'unavailable', ...SILENT, error: failureOf(refusal ?? error) };
  }
}

async function answersOf(
  client: Client,
  keys: readonly string[],
  rules: PlacementRules,
): Promise<Map<string, KeyAnswer>> {
  const answers = new Map<string, KeyAnswer>();
  for (const key of keys) answers.set(key, await answerOf(client, key, rules));
  return answers;
}

async function answerOf(
  client: Client,
  key: string,
  { topology, group }: PlacementRules,
): Promise<KeyAnswer> {
  const { FIND_PIN, judgePin, refusedPin, tooLong } = await import('@app/sharding/operator');
  const refusal = tooLong(key);
  if (refusal) return { row: undefined, refusal };
  const { rows } = await client.query<FoundRow>(FIND_PIN, [key]);
  const [found] = rows;
  if (!found?.pinned) return { row: undefined, refusal: undefined };
  const pin: Pin = { shard: found.shard_name ?? undefined, group: found.group_id ?? undefined };
  const verdict = judgePin(pin, group, topology);
  return { row: { pin, verdict }, refusal: refusedPin(key, pin, verdict) };
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
