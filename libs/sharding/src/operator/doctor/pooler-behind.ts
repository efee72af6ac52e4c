import { readOnly } from '../../shards/read-only.js';
import { askWay, backendKey } from '../ask-way.js';
import { looking, type LookLimits } from './look-limits.js';
import type pg from 'pg';
import type { Way } from '../place.js';

/** What stands before a server; `unknown`: a pooler that shows nothing of its mode. */
export type PoolerFound = 'none' | 'session' | 'transaction' | 'unknown';

const LIMIT_MS = 5000;

/**
 * A pooler gives its clients keys of its own to cancel by, so that the process id of the login is not that of the session.
 * Its mode shows when a second client works meanwhile: in transaction mode it gets the session of the first, or the first one
 * gets another. Whether two transactions of one client alone share a session says nothing: a pooler is free to do that.
 */
export async function poolerBehind(
  client: pg.Client,
  way: Way,
  { limitMs, signal }: LookLimits,
): Promise<PoolerFound> {
  const session = await sessionOf(client);
  if (session === backendKey(client).processID) return 'none';
  if ((await sessionOf(client)) !== session) return 'transaction';
  const limits = { limitMs: Math.min(limitMs, LIMIT_MS), signal };
  const mode = async (other: pg.Client) => {
    const taken = (await sessionOf(other)) === session; // of the first, which is still connected
    return taken || (await sessionOf(client)) !== session ? 'transaction' : 'session';
  };
  return askWay(way, looking(limits), (other) => readOnly(other, () => mode(other))).catch(
    () => 'unknown' as const,
  );
}

async function sessionOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
