import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage } from './error-code.js';

export interface WaitOptions {
  /** Names the condition in the error. */
  what: string;
  timeoutMs?: number;
  everyMs?: number;
}

/**
 * Repeats `check` until it gives something other than `undefined` or `false`, and returns that.
 * A check that throws counts as "not yet". After `timeoutMs` (5000) it fails, naming `what` and the last error.
 */
export async function waitFor<T>(
  check: () => Promise<T | undefined | false>,
  options: WaitOptions,
): Promise<T> {
  const { what, timeoutMs = 5000, everyMs = 20 } = options;
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await before(deadline, check());
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() + everyMs >= deadline) break;
    await pause(everyMs);
  }
  const reason = lastError === undefined ? '' : `; last error: ${errorMessage(lastError)}`;
  throw new Error(`gave up after ${timeoutMs} ms waiting for ${what}${reason}`, { cause: lastError });
}

/** The answer of one check, or an error when it is still pending at the deadline. */
async function before<T>(deadline: number, pending: Promise<T>): Promise<T> {
  const abort = new AbortController();
  const left = Math.max(1, deadline - performance.now());
  const late = pause(left, undefined, { signal: abort.signal }).then(() => {
    throw new Error('the check itself did not answer');
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([pending, late]);
  } finally {
    abort.abort();
  }
}
