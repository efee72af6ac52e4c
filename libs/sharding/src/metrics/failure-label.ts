import { ShardingError } from '@app/routing';
import { failureCode } from '../shards/database-failure.js';

/**
 * The label of a failure, of a bounded set: the code of a ShardingError, or the class of a SQLSTATE as `sqlstate_23`,
 * or `other`.
 */
export function failureLabel(error: unknown): string {
  if (error instanceof ShardingError) return error.code;
  const [, sqlClass] = /^([0-9A-Z]{2})[0-9A-Z]{3}$/.exec(failureCode(error) ?? '') ?? [];
  return sqlClass === undefined ? 'other' : `sqlstate_${sqlClass}`;
}
