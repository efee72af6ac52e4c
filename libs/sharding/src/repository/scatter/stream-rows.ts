import { setMaxListeners } from 'node:events';
import { ShardingError } from '@app/routing';
import { assertSameTypes } from './labels.js';
import { MergeHeap } from './merge-heap.js';
import { ShardCursor } from './shard-cursor.js';
import { rowOrder } from './sort-key.js';
import type { ObjectLiteral } from 'typeorm';
import type { PlacedShard } from './gather.js';
import type { RowsRequest } from './rows.js';
import type { ScatterReads } from './shard-read.js';
import type { Keyed } from './sort-key.js';

export interface StreamParts {
  readonly shards: readonly PlacedShard[];
  readonly reads: ScatterReads;
  readonly batchSize: number;
  readonly idleMs: number;
  readonly deadlineMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** The stream reads no more, also where its consumer has not noticed yet. */
  readonly ended: () => void;
}

/** The rows of one shard as far as they have been fetched. */
interface Source<E extends ObjectLiteral> {
  readonly cursor: ShardCursor<E>;
  rows: readonly Keyed<E>[];
  at: number;
}

/**
 * All rows in the global order. Opens one cursor a shard, in declaration order, so that streams which compete for
 * connections do not wait for each other in a circle; fetches the next batch of a shard when its rows are consumed.
 * However it ends, every transaction is ended and every connection given back before the generator is done.
 */
export async function* streamRows<E extends ObjectLiteral>(
  parts: StreamParts,
  request: RowsRequest<E>,
): AsyncGenerator<E, void, undefined> {
  const guard = new ConsumerGuard(parts);
  const { signal } = guard;
  signal.addEventListener('abort', parts.ended, { once: true });
  const cursors = parts.shards.map((place) => new ShardCursor({ ...parts, ...place, request, signal }));
  let done = false;
  try {
    const heap = await openHeap(cursors);
    for (let source = heap.pop(); source; source = heap.pop()) {
      const row = source.rows[source.at++]?.row;
      if (row !== undefined) yield guard.handed(row);
      guard.assertOpen();
      if (source.at === source.rows.length) await refill(source);
      if (source.rows.length > 0) heap.push(source);
    }
    done = true;
  } catch (error) {
    throw guard.reason ?? error;
  } finally {
    guard.end(done ? 'gently' : 'at once');
    await Promise.all(cursors.map((cursor) => cursor.close()));
  }
}

async function openHeap<E extends ObjectLiteral>(
  cursors: readonly ShardCursor<E>[],
): Promise<MergeHeap<Source<E>>> {
  const opened = [];
  for (const cursor of cursors) opened.push(await cursor.open());
  assertSameTypes(opened.map(({ source, keys }) => ({ source, columns: keys })));
  const order = rowOrder(opened[0]?.keys ?? []);
  const head = ({ rows, at }: Source<E>) => rows[at] as Keyed<E>;
  const heap = new MergeHeap<Source<E>>((a, b) => order(head(a), head(b)));
  const sources = cursors.map((cursor): Source<E> => ({ cursor, rows: [], at: 0 }));
  await Promise.all(sources.map(refill));
  for (const source of sources) if (source.rows.length > 0) heap.push(source);
  return heap;
}

async function refill<E extends ObjectLiteral>(source: Source<E>): Promise<void> {
  source.rows = await source.cursor.next();
  source.at = 0;
}

/** So often in the time of a consumer it is looked at. */
const LOOKS = 4;

/** Ends a stream whose consumer has given it up, or has forgotten it: nobody else would give its connections back. */
class ConsumerGuard {
  readonly signal: AbortSignal;
  #reason: ShardingError | undefined;
  #handedAt = Number.POSITIVE_INFINITY;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #forget: () => void;

  constructor({ signal, idleMs }: Pick<StreamParts, 'signal' | 'idleMs'>) {
    this.signal = signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
    setMaxListeners(0, this.signal); // every shard's cursor listens, and stops with its end
    this.#timer = setInterval(
      () => {
        if (performance.now() - this.#handedAt > idleMs) this.#end(idle(idleMs));
      },
      Math.ceil(idleMs / LOOKS),
    ).unref();
    const aborted = () => this.#end(new ShardingError('aborted', 'the stream was aborted by its caller'));
    this.#forget = () => signal?.removeEventListener('abort', aborted);
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
  }

  get reason(): ShardingError | undefined {
    return this.#reason;
  }

  /** The consumer has got a row: it is its turn. */
  handed<T>(row: T): T {
    this.#handedAt = performance.now();
    return row;
  }

  /** @throws ShardingError `aborted`, `deadline_exceeded` */
  assertOpen(): void {
    this.#handedAt = Number.POSITIVE_INFINITY;
    if (this.#reason) throw this.#reason;
  }

  /** `at once` also ends statements that are under way. */
  end(how: 'gently' | 'at once'): void {
    clearInterval(this.#timer);
    this.#forget();
    if (how === 'at once') this.#stop.abort();
  }

  #end(reason: ShardingError): void {
    this.#reason ??= reason;
    this.end('at once');
  }
}

function idle(idleMs: number): ShardingError {
  return new ShardingError(
    'deadline_exceeded',
    `the consumer kept the stream waiting for more than ${idleMs} ms: its connections were given back (idleMs)`,
  );
}
