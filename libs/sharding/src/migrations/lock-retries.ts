import { setTimeout as pause } from 'node:timers/promises';
import { failureCode } from '../shards/database-failure.js';

/** How a migration waits for the locks of others. */
export interface LockPatience {
  /** Of each wait. */
  readonly lockTimeoutMs: number;
  /** How often it is tried. */
  readonly lockAttempts: number;
  readonly signal: AbortSignal | undefined;
  /** Told before each further attempt. */
  readonly again: (attempt: number) => void;
  /** What else the operator should know. */
  readonly note: (text: string) => void;
}

const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK = '40P01';

/**
 * Gives up a lock that others hold and tries again after a while: a statement that waits for a table makes everybody else wait
 * behind it. The work must leave nothing behind when it fails.
 */
export async function withLockRetries<T>(patience: LockPatience, work: () => Promise<T>): Promise<T> {
  const { lockTimeoutMs, lockAttempts, signal, again } = patience;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= lockAttempts || !isLockFailure(error)) throw error;
      again(attempt);
    }
    await pause(lockTimeoutMs * (0.5 + Math.random()), undefined, { ...(signal && { signal }) });
  }
}

function isLockFailure(error: unknown): boolean {
  const code = failureCode(error);
  return code === LOCK_NOT_AVAILABLE || code === DEADLOCK;
}
