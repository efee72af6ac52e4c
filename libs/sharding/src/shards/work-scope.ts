import { AsyncLocalStorage } from 'node:async_hooks';
import { ShardingError } from '@app/routing';
import type { Database } from './database.js';

/** What is needed of a `pg` client to end its statement. */
export interface Backend {
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(): void } };
}

/** Limits of one piece of work. */
export interface WorkLimits {
  /** Milliseconds from now. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A statement whose cancel was not obeyed within this time loses its connection. */
const CANCEL_GRACE_MS = 1000;

const scopes = new AsyncLocalStorage<WorkScope>();

/**
 * The statements that a piece of work has under way, on whatever database. When the work's time is up they are
 * cancelled on their servers, and later statements of the same work are refused.
 */
export class WorkScope {
  readonly #inFlight = new Map<Backend, { database: Database; cancelled?: Promise<void> }>();
  #ended?: ShardingError;

  constructor(private readonly parent: WorkScope | undefined) {}

  assertOpen(): void {
    if (this.#ended) throw this.#ended;
    this.parent?.assertOpen();
  }

  enter(backend: Backend, database: Database): void {
    this.#inFlight.set(backend, { database });
    this.parent?.enter(backend, database);
  }

  /** Settles when no cancel can hit the backend's next statement any more; rejects with the reason when it ended. */
  async leave(backend: Backend): Promise<void> {
    await this.#inFlight.get(backend)?.cancelled;
    this.#inFlight.delete(backend);
    await this.parent?.leave(backend);
  }

  get idle(): boolean {
    return this.#inFlight.size === 0;
  }

  get reason(): ShardingError | undefined {
    return this.#ended ?? this.parent?.reason;
  }

  end(reason: ShardingError): void {
    if (this.#ended) return;
    this.#ended = reason;
    for (const [backend, entry] of this.#inFlight) entry.cancelled = this.cancel(backend, entry.database);
  }

  private async cancel(backend: Backend, database: Database): Promise<void> {
    await database.cancel([backend.processID]).catch(() => undefined); // frozen or gone: the socket is next
    setTimeout(() => {
      if (this.#inFlight.has(backend)) backend.connection.stream.destroy();
    }, CANCEL_GRACE_MS).unref();
  }
}

/** The scope that the caller runs in. */
export function currentScope(): WorkScope | undefined {
  return scopes.getStore();
}

/**
 * Runs `work` within limits. At the deadline, or when the signal fires, the call rejects at once
 * (`deadline_exceeded`, `aborted`), its statements are cancelled on their servers, and what is left of `work`
 * can send no further statement.
 */
export async function within<T>(what: string, limits: WorkLimits, work: () => Promise<T>): Promise<T> {
  const { deadlineMs, signal } = limits;
  if (deadlineMs === undefined && signal === undefined) return work();
  if (signal?.aborted) throw aborted(what);
  const scope = new WorkScope(scopes.getStore());
  let stop: () => void = () => undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    const finish = (reason: ShardingError) => {
      scope.end(reason);
      reject(reason);
    };
    const onAbort = () => finish(aborted(what));
    const timer =
      deadlineMs === undefined ? undefined : setTimeout(() => finish(late(what, deadlineMs)), deadlineMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  });
  const running = scopes.run(scope, async () => work());
  running.catch(() => undefined); // after the deadline its end is of no interest
  try {
    return await Promise.race([running, ended]);
  } finally {
    stop();
  }
}

function late(what: string, ms: number): ShardingError {
  return new ShardingError('deadline_exceeded', `${what} was not done within ${ms} ms`);
}

function aborted(what: string): ShardingError {
  return new ShardingError('aborted', `${what} was aborted by its caller`);
}
