import type { Place } from '@app/sharding/operator';
import type { Client } from 'pg';

export interface AskLimits {
  /** Bound of everything together, connecting included. */
  readonly limitMs: number;
  /** Cancels on the server what is under way. */
  readonly signal: AbortSignal;
}

/**
 * Runs `work` on a connection of its own to a database and closes it: around a pooler where the configuration knows a way.
 *
 * @throws the driver's error; `timeout expired`
 */
export async function askPlace<T>(
  place: Place,
  limits: AskLimits,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { askWay, directWay } = await import('@app/sharding/operator');
  return askWay(directWay(place), { ...limits, by: 'shardctl' }, work);
}
