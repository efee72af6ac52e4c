import { ShardingError } from '@app/routing';
import { failureReason, isConnectionFailure, isDiskFull, isServerError } from '../shards/database-failure.js';
import { INSUFFICIENT_PRIVILEGE, isUnmigrated } from '../shards/sqlstates.js';
import { tableName } from './tables/moved-table.js';

/** What the server says of where it failed: names, never values. */
interface ServerWords {
  readonly code?: string;
  readonly schema?: string;
  readonly table?: string;
  readonly constraint?: string;
}

const AGAIN = 'nothing is lost: run the same command again';

/**
 * What a mover gives for a driver's error, whose own words may carry values of rows. The transaction that it was in has been
 * rolled back.
 */
export function moveFailure(error: unknown): unknown {
  if (error instanceof ShardingError) return error;
  if (isConnectionFailure(error)) {
    const why = failureReason(error);
    return new ShardingError('shard_unavailable', `a connection of the mover was lost (${why}); ${AGAIN}`, {
      cause: error,
    });
  }
  if (!isServerError(error)) return error;
  const known = ofTheFramework(error);
  if (known) return known;
  const { schema, table, constraint } = error as ServerWords;
  const where = table === undefined ? '' : ` in ${tableName({ schema: schema ?? '', name: table })}`;
  const reason = isDiskFull(error) ? 'its disk is full' : failureReason(error);
  const rule = constraint === undefined ? '' : `, by ${constraint}`;
  return new ShardingError(
    'move_refused',
    `a database refused a statement of the mover (${reason}${where}${rule}) and it was rolled back; ${AGAIN} when its reason is gone`,
    { cause: error },
  );
}

/** The server's words for it hold names alone. */
const DENIED = /^permission denied for [a-z ]+ \S+$/;

/** What the operator mends before anything can be moved. */
function ofTheFramework(cause: unknown): ShardingError | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as ServerWords;
  if (isUnmigrated(code) && cause.message.includes('_sharding_')) {
    const remedy = 'run the migrations (shardctl migrate, or migrate())';
    return new ShardingError('migrations_pending', `a database lacks what moves need: ${remedy}`, { cause });
  }
  if (code !== INSUFFICIENT_PRIVILEGE || !DENIED.test(cause.message)) return undefined;
  return new ShardingError(
    'move_refused',
    `a role may not do what a move needs, ${cause.message}: grant it`,
    {
      cause,
    },
  );
}
