import type { MaybePromise } from '@app/routing';

export type { MaybePromise };

/** The result of `work` as a promise, also of what it throws at once; no promise more than it makes itself. */
export function promised<T>(work: () => MaybePromise<T>): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/**
 * `next` on the value, at once where it is there. The path of every request uses it: with AsyncLocalStorage each promise
 * costs its hooks, and routing by hash needs to wait for nothing.
 */
export function chain<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
