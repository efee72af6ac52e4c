import { ShardingError, type ShardingErrorCode } from '@app/routing';
import { askTarget } from './ask-target.js';
import { failureOf } from './failure.js';
import { controlTarget } from './targets.js';
import type { Client } from 'pg';
import type { Session } from './verb.js';

const LIMIT_MS = 15_000;
/** Of the wait for an application that records a version. */
export const LOCK_LIMIT_MS = 5000;

const UNDEFINED_TABLE = '42P01';
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Asks the control database for its slot map.
 *
 * @throws ShardingError `invalid_topology` without a control database, `migrations_pending` where it has no slot map
 */
export async function askSlotMap<T>(session: Session, work: (client: Client) => Promise<T>): Promise<T> {
  const target = controlTarget(await session.settings());
  try {
    return await askTarget(target, { limitMs: LIMIT_MS, signal: session.signal }, work);
  } catch (cause) {
    throw slotMapFailure(cause);
  }
}

function slotMapFailure(cause: unknown): unknown {
  const { code, message } = failureOf(cause);
  const failure = (known: ShardingErrorCode, text: string) => new ShardingError(known, text, { cause });
  switch (code) {
    case UNDEFINED_TABLE:
      return failure('migrations_pending', 'the control database has no slot map: run the migrations first');
    case LOCK_NOT_AVAILABLE:
      return failure(
        'deadline_exceeded',
        'another process records a slot map and does not end: try again later',
      );
    case INSUFFICIENT_PRIVILEGE:
      return failure(
        'shard_unavailable',
        'the role may not use the slot map: grant select, insert on _sharding_map, and select on _sharding_slot_moves',
      );
    default:
      if (cause instanceof ShardingError) return cause;
      return failure('shard_unavailable', `the control database cannot be asked: ${message} (${code})`);
  }
}
