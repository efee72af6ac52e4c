import { fanOut } from '../../shards/fan-out.js';
import { within } from '../../shards/work-scope.js';
import type { MaybePromise } from '../../shards/maybe-promise.js';
import type { PlacedShards } from '../../shards/placed-shards.js';
import type { Shard } from '../../shards/shard.js';

/** Something, and the shard that it was found on. */
export interface Found<T> {
  readonly shard: Shard;
  readonly value: T;
}

/** One question to several shards. */
export interface Search<T> {
  /** `null` where it is not there. */
  ask(shard: Shard): Promise<T | null>;
  /** Whether what was found is surely the right one, so that the other shards need not be waited for. */
  isSure?(found: Found<T>): MaybePromise<boolean>;
}

/** Shards at a time. */
const WIDTH = 4;
/** Bound for each shard, from its start. */
const DEADLINE_MS = 30_000;

/**
 * Asks the shards where something may be, all of them at once. What is surely right ends the search; else the first of
 * the list that has it is the answer. A shard that fails, or that nobody can name, is an error where nothing was found,
 * and where what was found may be the copy that a move has left behind.
 */
export function firstFound<T>(shards: PlacedShards, search: Search<T>): Promise<Found<T> | null> {
  const [only] = shards;
  if (!only || shards.length > 1 || shards.missing) return firstOfSeveral(shards, search);
  return search.ask(only).then((value) => found(only, value));
}

async function firstOfSeveral<T>(shards: PlacedShards, search: Search<T>): Promise<Found<T> | null> {
  const sure: Found<T>[] = [];
  const stop = new AbortController();
  const limits = { deadlineMs: DEADLINE_MS, signal: stop.signal };
  const outcomes = await fanOut(shards, WIDTH, async (shard) => {
    const answer = found(shard, await within(whatOf(shard), limits, () => search.ask(shard)));
    if (answer && (await search.isSure?.(answer))) {
      sure.push(answer);
      stop.abort();
    }
    return answer;
  });
  const answers = outcomes.flatMap((outcome) => (outcome.ok && outcome.value) || []);
  const [answer] = sure.length > 0 || search.isSure === undefined ? [...sure, ...answers] : [];
  if (answer) return answer;
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  if (shards.missing) throw shards.missing;
  return answers[0] ?? null;
}

/** Runs `work` on every shard of a short list, at once; all of them, or the first error by their order. */
export async function onEach<T>(shards: PlacedShards, work: (shard: Shard) => Promise<T>): Promise<T[]> {
  if (shards.missing) throw shards.missing;
  const [only] = shards;
  if (only && shards.length === 1) return [await work(only)];
  const limits = { deadlineMs: DEADLINE_MS };
  const outcomes = await fanOut(shards, WIDTH, (shard) => within(whatOf(shard), limits, () => work(shard)));
  return outcomes.map((outcome) => {
    if (!outcome.ok) throw outcome.error;
    return outcome.value;
  });
}

/** All shards of several lists, each once. */
export function union(lists: readonly PlacedShards[]): PlacedShards {
  const [only] = lists;
  if (only && lists.length === 1) return only;
  const shards = [...new Set(lists.flat())];
  const missing = lists.find((list) => list.missing)?.missing;
  return missing ? Object.assign(shards, { missing }) : shards;
}

function whatOf({ name }: Shard): string {
  return `the read on shard "${name}"`;
}

function found<T>(shard: Shard, value: T | null): Found<T> | null {
  return value === null ? null : { shard, value };
}
