import { ShardingError } from '@app/routing';
import { INSUFFICIENT_PRIVILEGE, isUnmigrated } from '../shards/sqlstates.js';

/** What a question to the directory has failed for, where its tables are not there or not open to this role; else undefined. */
export function noDirectory(code: string | undefined, cause: unknown): ShardingError | undefined {
  if (isUnmigrated(code)) {
    return new ShardingError(
      'migrations_pending',
      'the control database has no directory: run the migrations (shardctl migrate, or migrate())',
      { cause },
    );
  }
  if (code !== INSUFFICIENT_PRIVILEGE) return undefined;
  return new ShardingError(
    'directory_unavailable',
    'this role may not use the directory: grant it select on the _sharding_ tables of control, and what it changes them by',
    { cause },
  );
}
