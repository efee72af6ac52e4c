import { ShardingError } from '@app/routing';
import { askPlace } from './ask-place.js';
import { failureOf } from './failure.js';
import type { noSlotMap } from '@app/sharding/operator';
import type { Client } from 'pg';
import type { Session } from './verb.js';

const LIMIT_MS = 15_000;
/** Of the wait for an application that records a version. */
export const LOCK_LIMIT_MS = 5000;

const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Asks the control database for its slot map.
 *
 * @throws ShardingError `invalid_topology` without a control database, `migrations_pending` where it has no slot map
 */
export async function askSlotMap<T>(session: Session, work: (client: Client) => Promise<T>): Promise<T> {
  const { controlPlace, noSlotMap } = await import('@app/sharding/operator');
  const place = controlPlace(await session.settings());
  try {
    return await askPlace(place, { limitMs: LIMIT_MS, signal: session.signal }, work);
  } catch (cause) {
    throw slotMapFailure(cause, noSlotMap(failureOf(cause).code));
  }
}

function slotMapFailure(cause: unknown, known: ReturnType<typeof noSlotMap>): ShardingError {
  if (cause instanceof ShardingError) return cause;
  const { code, message } = failureOf(cause);
  if (code === LOCK_NOT_AVAILABLE) {
    return new ShardingError(
      'deadline_exceeded',
      'another process records a slot map and does not end: try again later',
      { cause },
    );
  }
  return new ShardingError(
    known?.code ?? 'shard_unavailable',
    `the control database ${known?.reason ?? `cannot be asked: ${message} (${code})`}`,
    { cause },
  );
}
