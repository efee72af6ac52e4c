import { ShardingError } from '@app/routing';
import { fanOut } from '../../shards/fan-out.js';
import { within } from '../../shards/work-scope.js';
import { withFreshLabels } from './labels.js';
import { readShard } from './shard-read.js';
import type { DataSource } from 'typeorm';
import type { ShardOutcome } from '../../shards/fan-out.js';
import type { Shard } from '../../shards/shard.js';
import type { FanOutPlan, MissingShard } from './fan-out-options.js';
import type { ScatterReads, ShardRead } from './shard-read.js';

/** What one shard answered. */
export interface ShardAnswer<T> {
  readonly shard: Shard;
  /** By declaration order. */
  readonly index: number;
  /** What it was read from. */
  readonly source: DataSource;
  readonly value: T;
}

/** Answers and missing shards, each in declaration order. */
export interface Gathered<T> {
  readonly answers: readonly ShardAnswer<T>[];
  readonly missing: readonly MissingShard[];
}

/** A shard with its place in the declaration order. */
export interface PlacedShard {
  readonly shard: Shard;
  readonly index: number;
}

/** Which shards are read, and how. */
export interface GatherParts {
  /** All of one scatter: one snapshot of the routing. */
  readonly shards: readonly PlacedShard[];
  readonly reads: ScatterReads;
  readonly plan: FanOutPlan;
}

/** Failures that a partial answer puts up with: the shard is to blame, not the query. */
const ABSENT = new Set(['shard_unavailable', 'replica_unavailable', 'deadline_exceeded']);

/**
 * Reads every shard, `width` at a time. Without a quorum the first failure by declaration order is the error, and what
 * cannot decide that any more is cancelled. With one, a query that is wrong is still an error.
 *
 * @throws ShardingError and what a statement may throw, with the shard's name
 */
export async function gather<T>(
  { shards, reads, plan }: GatherParts,
  work: (read: ShardRead) => Promise<T>,
): Promise<Gathered<T>> {
  const places = shards.map((place) => ({ ...place, stop: new AbortController() }));
  const giveUp = (failed: number) => {
    if (plan.quorum !== undefined) return;
    for (const { shard, index, stop } of places) if (index > failed && isOpen(shard)) stop.abort();
  };
  const outcomes = await fanOut(places, plan.width, async ({ shard, index, stop }) => {
    const signal = plan.signal ? AbortSignal.any([plan.signal, stop.signal]) : stop.signal;
    const limits = { deadlineMs: plan.deadlineMs, signal };
    try {
      return await within(`the read on shard "${shard.name}"`, limits, () =>
        readShard(shard, { index, reads }, async (read) => ({
          index,
          shard,
          source: read.source,
          value: await withFreshLabels(read, work),
        })),
      );
    } catch (error) {
      giveUp(index);
      throw named(error, shard);
    }
  });
  return plan.quorum === undefined ? allOf(outcomes) : someOf(outcomes, plan);
}

/** An opening is shared by all who need the database: it must not end with one of them. */
function isOpen({ reads: { primary, replica } }: Shard): boolean {
  return primary.opened !== undefined && (!replica || replica.database.opened !== undefined);
}

type Outcomes<T> = readonly ShardOutcome<{ readonly shard: Shard }, ShardAnswer<T>>[];

function allOf<T>(outcomes: Outcomes<T>): Gathered<T> {
  const answers = outcomes.map((outcome): ShardAnswer<T> => {
    if (!outcome.ok) throw outcome.error;
    return outcome.value;
  });
  return { answers, missing: [] };
}

function someOf<T>(outcomes: Outcomes<T>, { quorum = 1 }: FanOutPlan): Gathered<T> {
  const answers: ShardAnswer<T>[] = [];
  const failures: { readonly error: ShardingError; readonly shard: string }[] = [];
  for (const outcome of outcomes) {
    if (outcome.ok) answers.push(outcome.value);
    else failures.push({ error: absence(outcome.error), shard: outcome.shard.shard.name });
  }
  if (answers.length < quorum) throw failures[0]?.error;
  return { answers, missing: failures.map(({ error, shard }) => ({ shard, code: error.code })) };
}

/** @throws what is no absence: the query, or its caller, is to blame */
function absence(error: unknown): ShardingError {
  if (error instanceof ShardingError && ABSENT.has(error.code)) return error;
  throw error;
}

/** A statement's own error does not say where it failed. */
function named(error: unknown, { name }: Shard): unknown {
  if (error instanceof Error && !(error instanceof ShardingError) && !('shard' in error)) {
    Object.defineProperty(error, 'shard', { value: name, enumerable: true, configurable: true });
  }
  return error;
}
