import { gather } from './gather.js';
import { assertSameTypes } from './labels.js';
import { mergeSorted } from './merge-heap.js';
import { loadRows, readRows } from './rows.js';
import { rowOrder } from './sort-key.js';
import type { ObjectLiteral } from 'typeorm';
import type { MissingShard } from './fan-out-options.js';
import type { Gathered, GatherParts } from './gather.js';
import type { Position } from './keyset.js';
import type { RowsPlan, RowsRequest } from './rows.js';
import type { Keyed } from './sort-key.js';

/** Which part of the global order is wanted. */
export interface Window {
  readonly skip: number;
  /** Undefined: all. */
  readonly take: number | undefined;
  /** Where the rows of each shard, by declaration order, go on. */
  readonly after?: ((shard: number) => Position) | undefined;
}

/** Rows in the global order. */
export interface FoundRows<E> {
  readonly rows: readonly E[];
  /** The last of them; undefined where there are none. */
  readonly last: Keyed<unknown> | undefined;
  /** There may be rows behind it: surely, or because a shard gave as many rows as it was asked for. */
  readonly more: boolean;
  readonly missing: readonly MissingShard[];
}

interface Part<E extends ObjectLiteral> {
  readonly plan: RowsPlan<E>;
  readonly rows: readonly Keyed<E | undefined>[];
}

/**
 * Reads at most `skip + take` rows of each shard and merges them in the global order; loads the relations with many rows
 * of those that are left.
 */
export async function findRows<E extends ObjectLiteral>(
  parts: GatherParts,
  request: RowsRequest<E>,
  { skip, take, after }: Window,
): Promise<FoundRows<E>> {
  const limit = take === undefined ? undefined : skip + take;
  const gathered = await gather(parts, (read) =>
    readRows(read, { ...request, limit, after: after?.(read.index) }),
  );
  const chosen = merged(gathered, skip, limit);
  const { rows, missing } = await completed(parts, request, { gathered, chosen });
  const total = gathered.answers.reduce((sum, { value }) => sum + value.rows.length, 0);
  const full = gathered.answers.some(({ value }) => value.rows.length === limit);
  return { rows, missing, last: chosen.at(-1), more: full || total > skip + chosen.length };
}

function merged<E extends ObjectLiteral>(
  { answers }: Gathered<Part<E>>,
  skip: number,
  limit: number | undefined,
): Keyed<E | undefined>[] {
  assertSameTypes(answers.map(({ source, value }) => ({ source, columns: value.plan.keys })));
  const keys = answers[0]?.value.plan.keys ?? [];
  const chosen: Keyed<E | undefined>[] = [];
  let at = 0;
  for (const row of mergeSorted(
    answers.map(({ value }) => value.rows),
    rowOrder(keys),
  )) {
    if (at === limit) break;
    if (at++ >= skip) chosen.push(row);
  }
  return chosen;
}

interface Chosen<E extends ObjectLiteral> {
  readonly gathered: Gathered<Part<E>>;
  readonly chosen: readonly Keyed<E | undefined>[];
}

/** The entities, in order; those that are known by key alone are loaded from their shards. */
async function completed<E extends ObjectLiteral>(
  parts: GatherParts,
  request: RowsRequest<E>,
  { gathered, chosen }: Chosen<E>,
): Promise<{ rows: E[]; missing: readonly MissingShard[] }> {
  const byKey = gathered.answers[0]?.value.plan.load === 'by key';
  if (!byKey) return { rows: chosen.map(({ row }) => row as E), missing: gathered.missing };
  const wanted = new Map<number, Keyed<unknown>[]>();
  for (const row of chosen) {
    const rows = wanted.get(row.shard);
    if (rows) rows.push(row);
    else wanted.set(row.shard, [row]);
  }
  const plans = new Map(gathered.answers.map(({ index, value }) => [index, value.plan]));
  const loaded = await gather(remaining(parts, gathered, wanted), async (read) => {
    const plan = plans.get(read.index);
    return plan ? loadRows(read, plan, { request, rows: wanted.get(read.index) ?? [] }) : [];
  });
  const queues = new Map(loaded.answers.map(({ index, value }) => [index, value[Symbol.iterator]()]));
  const rows = chosen.flatMap(({ shard }) => (queues.get(shard)?.next().value as E | undefined) ?? []);
  return { rows, missing: [...gathered.missing, ...loaded.missing] };
}

/** The shards that rows were chosen of; those that have answered and are not asked again count for the quorum. */
function remaining(
  parts: GatherParts,
  { answers }: Gathered<unknown>,
  wanted: ReadonlyMap<number, unknown>,
): GatherParts {
  const shards = parts.shards.filter(({ index }) => wanted.has(index));
  const { quorum } = parts.plan;
  if (quorum === undefined) return { ...parts, shards };
  const needed = Math.max(0, quorum - (answers.length - shards.length));
  return { ...parts, shards, plan: { ...parts.plan, quorum: needed } };
}
