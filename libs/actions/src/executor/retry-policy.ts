import { QueryFailedError } from 'typeorm';
import { ShardingError } from '@app/routing';

/** How often work that failed for a passing reason is tried again. */
export interface RetryPolicy {
  /** With the first one. Default 5; 1 never repeats. */
  readonly attempts?: number;
  /** Pause before the second attempt; doubled for each further one. Default 20. */
  readonly delayMs?: number;
  /** Default 1000. */
  readonly maxDelayMs?: number;
}

const DEFAULTS = { attempts: 5, delayMs: 20, maxDelayMs: 1000 } as const satisfies Required<RetryPolicy>;

/** @throws ShardingError `invalid_options` */
export function resolveRetry(policy: RetryPolicy = {}): Required<RetryPolicy> {
  const resolved = { ...DEFAULTS, ...policy };
  const { attempts, delayMs, maxDelayMs } = resolved;
  const whole = [attempts, delayMs, maxDelayMs].every((value) => Number.isInteger(value) && value >= 0);
  if (whole && attempts >= 1) return resolved;
  throw new ShardingError(
    'invalid_options',
    'retry takes whole numbers: attempts of at least 1, delayMs and maxDelayMs of at least 0',
  );
}

/** Between half of the doubled delay and all of it, so that those who met once do not meet again. */
export function retryDelay(policy: Required<RetryPolicy>, attempt: number, random = Math.random()): number {
  const full = Math.min(policy.maxDelayMs, policy.delayMs * 2 ** (attempt - 1));
  return full * (0.5 + random / 2);
}

const CODES = new Set(['stale_row', 'shard_moved']);
/** serialization_failure, deadlock_detected */
const SQLSTATES = new Set(['40001', '40P01']);

/** Whether an attempt that failed so may succeed when everything is read anew. Nothing of it was committed. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ShardingError) return CODES.has(error.code);
  return SQLSTATES.has(sqlState(error) ?? '');
}

/** Of an error of the server. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  return (error.driverError as { readonly code?: string }).code;
}
