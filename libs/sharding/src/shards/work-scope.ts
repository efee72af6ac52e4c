import { AsyncLocalStorage } from 'node:async_hooks';
import { ShardingError } from '@app/routing';
import type { BackendKey } from './cancel-request.js';
import type { Database } from './database.js';

/** What is needed of a `pg` client to end its statement. */
export interface Backend extends BackendKey {
  readonly connection: { readonly stream: { destroy(): void } };
}

/** Limits of one piece of work. */
export interface WorkLimits {
  /** Milliseconds from now, 1 to 2147483647. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A statement that has not ended this long after its cancel was asked for loses its connection. */
const CANCEL_GRACE_MS = 2500;

/** The longest timer of Node; a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

const scopes = new AsyncLocalStorage<WorkScope>();

/**
 * The statements that a piece of work has under way, on whatever database. When the work's time is up they are
 * cancelled on their servers, and later statements of the same work, and of scopes within it, are refused.
 */
export class WorkScope {
  /** Rejects with the reason when the time of this scope, or of one around it, is up. */
  readonly ended: Promise<never>;
  readonly #inFlight = new Map<Backend, { database: Database; cancelled?: Promise<void> }>();
  private readonly inner = new Set<WorkScope>();
  #reason?: ShardingError;
  #reject: (reason: ShardingError) => void = () => undefined;

  constructor(private readonly parent: WorkScope | undefined) {
    this.ended = new Promise<never>((_resolve, reject) => (this.#reject = reject));
    this.ended.catch(() => undefined);
    parent?.inner.add(this);
  }

  get reason(): ShardingError | undefined {
    return this.#reason;
  }

  /** @throws the reason why the scope has ended */
  assertOpen(): void {
    if (this.#reason) throw this.#reason;
  }

  enter(backend: Backend, database: Database): void {
    this.#inFlight.set(backend, { database });
    this.parent?.enter(backend, database);
  }

  /** Settles when no cancel can hit the backend's next statement any more. */
  async leave(backend: Backend): Promise<void> {
    const cancelled = this.#inFlight.get(backend)?.cancelled;
    this.#inFlight.delete(backend);
    await cancelled;
    await this.parent?.leave(backend);
  }

  /** Refuses what comes later and cancels what is under way. */
  end(reason: ShardingError): void {
    if (this.#reason) return;
    this.markEnded(reason);
    for (const [backend, entry] of this.#inFlight) {
      entry.cancelled = entry.database.cancel([backend]).catch(() => undefined); // frozen: the socket is next
      setTimeout(() => {
        if (this.#inFlight.get(backend) === entry) backend.connection.stream.destroy();
      }, CANCEL_GRACE_MS).unref();
    }
  }

  /** The work is done: its limits are of no interest any more. */
  close(): void {
    this.parent?.inner.delete(this);
  }

  private markEnded(reason: ShardingError): void {
    this.#reason ??= reason;
    this.#reject(this.#reason);
    for (const scope of this.inner) scope.markEnded(reason);
  }
}

/** The scope that the caller runs in. */
export function currentScope(): WorkScope | undefined {
  return scopes.getStore();
}

/**
 * Runs `work` within limits, and within those of the scope around it. At the deadline, or when the signal fires, the
 * call rejects at once (`deadline_exceeded`, `aborted`), its statements are cancelled on their servers, and what is left
 * of `work` can send no further statement.
 *
 * @throws ShardingError `invalid_options` for a deadline that is no whole number of milliseconds
 */
export async function within<T>(what: string, limits: WorkLimits, work: () => Promise<T>): Promise<T> {
  const { deadlineMs, signal } = limits;
  const around = scopes.getStore();
  if (deadlineMs === undefined && signal === undefined && !around) return work();
  if (deadlineMs !== undefined) assertDuration(deadlineMs);
  if (signal?.aborted) throw aborted(what);
  around?.assertOpen();
  const scope = new WorkScope(around);
  const onAbort = () => scope.end(aborted(what));
  const timer = deadlineMs && setTimeout(() => scope.end(late(what, deadlineMs)), deadlineMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  const running = scopes.run(scope, async () => work());
  running.catch(() => undefined); // after the deadline its end is of no interest
  try {
    return await Promise.race([running, scope.ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    scope.close();
  }
}

/**
 * Runs `work` so that `signal` ends what it has begun: statements that are under way then are cancelled on their servers,
 * later ones are refused (`aborted`). Within no other limits: whoever calls it is the outermost caller.
 */
export function underSignal<T>(what: string, signal: AbortSignal, work: () => T): T {
  const scope = new WorkScope(undefined);
  const end = () => scope.end(aborted(what));
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return scopes.run(scope, work);
}

function assertDuration(milliseconds: number): void {
  if (Number.isInteger(milliseconds) && milliseconds >= 1 && milliseconds <= MAX_TIMER_MS) return;
  throw new ShardingError(
    'invalid_options',
    `a time limit is a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`,
  );
}

function late(what: string, ms: number): ShardingError {
  return new ShardingError('deadline_exceeded', `${what} was not done within ${ms} ms`);
}

function aborted(what: string): ShardingError {
  return new ShardingError('aborted', `${what} was aborted by its caller`);
}
