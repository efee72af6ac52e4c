import { ShardingError } from '@app/routing';
import { checkoutError } from '../shards/database-failure.js';
import { sessionOf, type MoveSession } from './move-session.js';
import { SessionWatch, type WatchTimes } from './session-watch.js';
import type { Database } from '../shards/database.js';

/** A copy may take hours; nothing waits for longer than this. */
const MOVE_LIMIT_MS = 24 * 3_600_000;

const WATCH: WatchTimes = { everyMs: 5000, answerMs: 10_000 };

export interface SessionPlace {
  readonly database: Database;
  /** Part of its `application_name`. */
  readonly purpose: string;
  readonly signal: AbortSignal;
  readonly watch?: Partial<WatchTimes> | undefined;
}

/**
 * Lends a session on a connection outside the pool. When `signal` fires the connection ends, and with it what it runs.
 *
 * @throws ShardingError `shard_unavailable` where there is no connection, or the server falls silent in the middle of something; `invalid_topology` where only a pooler leads there
 */
export async function inSession<T>(
  place: SessionPlace,
  work: (session: MoveSession) => Promise<T>,
): Promise<T> {
  if (!place.database.keepsSessions) throw throughPooler(place.database.label);
  let connected = false;
  try {
    return await connectAndRun(place, (session) => {
      connected = true;
      return work(session);
    });
  } catch (error) {
    throw connected || place.signal.aborted ? error : checkoutError(place.database.label, error);
  }
}

/** Its settings would reach other clients, among them the empty search path and the pass of the fence. */
function throughPooler(label: string): ShardingError {
  return new ShardingError(
    'invalid_topology',
    `${label}: moves and audits pin settings in their sessions, which a transaction-mode pooler gives to others; set maintenance_url, a direct connection`,
  );
}

function connectAndRun<T>(
  { database, purpose, signal, watch: times }: SessionPlace,
  work: (session: MoveSession) => Promise<T>,
): Promise<T> {
  return database.dedicated(purpose, MOVE_LIMIT_MS, async (client) => {
    let failure: ShardingError | undefined;
    const stop = () => void client.end().catch(() => undefined); // a running statement rejects
    const lost = (error: ShardingError) => {
      failure = error;
      stop();
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', stop, { once: true });
    const watch = new SessionWatch({ database, purpose, times: { ...WATCH, ...times }, lost });
    try {
      const session = await sessionOf(client);
      watch.begin(session);
      return await work(session);
    } catch (error) {
      throw failure ?? error;
    } finally {
      signal.removeEventListener('abort', stop);
      await watch.end();
    }
  });
}
