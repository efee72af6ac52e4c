import { ShardingError } from '@app/routing';
import { resolveRetry } from './retry-policy.js';
import type { RetryPolicy } from './retry-policy.js';

/** How actions are executed. */
export interface ExecutionOptions {
  /** Of actions that have no policy of their own. */
  readonly retry?: RetryPolicy;
  /**
   * Bound of each transaction: the wait for a connection, the statements and the commit. Default 30000 for parts of actions
   * over several shards; an action on one shard has few statements, each of which has its own bound already.
   */
  readonly transactionTimeoutMs?: number;
  /** Days that results of idempotency keys are kept. Default 30. */
  readonly ledgerDays?: number;
  /** Days that the journal of an action over several shards is kept, and its parts, after it has ended. Default 7. */
  readonly journalDays?: number;
}

/** {@link ExecutionOptions} without gaps. */
export interface ActionSettings {
  readonly retry: Required<RetryPolicy>;
  readonly transactionTimeoutMs: number;
  /** Where it was asked for: a bound of the whole costs each statement a little. */
  readonly oneShardTimeoutMs: number | undefined;
  readonly ledgerDays: number;
  readonly journalDays: number;
}

const DEFAULTS = { transactionTimeoutMs: 30_000, ledgerDays: 30, journalDays: 7 } as const;

/** @throws ShardingError `invalid_options` */
export function resolveExecution({ retry, ...given }: ExecutionOptions = {}): ActionSettings {
  const settings = { ...DEFAULTS, ...given };
  const { transactionTimeoutMs, ledgerDays, journalDays } = settings;
  for (const [name, value] of Object.entries({ transactionTimeoutMs, ledgerDays, journalDays })) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new ShardingError('invalid_options', `${name} is a whole number of at least 1`);
  }
  const { transactionTimeoutMs: oneShardTimeoutMs } = given;
  return { retry: resolveRetry(retry), transactionTimeoutMs, oneShardTimeoutMs, ledgerDays, journalDays };
}
