import { ShardingError } from '@app/routing';
import { resolveRetry } from './retry-policy.js';
import type { RetryPolicy } from './retry-policy.js';

/** How actions are executed. */
export interface ExecutionOptions {
  /** Of actions that have no policy of their own. */
  readonly retry?: RetryPolicy;
  /** Bound of each transaction: the wait for a connection, the statements and the commit. Default 30000. */
  readonly transactionTimeoutMs?: number;
}

/** {@link ExecutionOptions} without gaps. */
export interface ActionSettings {
  readonly retry: Required<RetryPolicy>;
  readonly transactionTimeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** @throws ShardingError `invalid_options` */
export function resolveExecution(options: ExecutionOptions = {}): ActionSettings {
  const { transactionTimeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (!Number.isInteger(transactionTimeoutMs) || transactionTimeoutMs < 1) {
    throw new ShardingError('invalid_options', 'transactionTimeoutMs is a whole number of at least 1');
  }
  return { retry: resolveRetry(options.retry), transactionTimeoutMs };
}
