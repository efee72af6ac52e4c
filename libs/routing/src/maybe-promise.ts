/** A value that is there at once, or comes later; `await` it either way. */
export type MaybePromise<T> = T | Promise<T>;
