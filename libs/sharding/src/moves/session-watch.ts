import { setTimeout as pause } from 'node:timers/promises';
import { isServerError, unavailable } from '../shards/database-failure.js';
import { doubtOf, GONE, SILENT, type Doubt, type SessionLook } from './session-doubt.js';
import type pg from 'pg';
import type { ShardingError } from '@app/routing';
import type { Database } from '../shards/database.js';
import type { MoveSession } from './move-session.js';

/** How a session that lasts is watched. */
export interface WatchTimes {
  /** Between two looks. Default 5000. */
  readonly everyMs: number;
  /** For the answer to each. Default 10,000. */
  readonly answerMs: number;
}

export interface WatchParts {
  readonly database: Database;
  readonly purpose: string;
  readonly times: WatchTimes;
  /** Called once, when the session can be given up. */
  readonly lost: (error: ShardingError) => void;
}

/** Of one connection of the watch. */
const CONNECTION_LIMIT_MS = 24 * 3_600_000;

/**
 * Asks the server again and again, on a connection of its own, whether a session is still at work: a statement may take hours, and
 * a shard that has fallen silent looks the same from here. Short sessions are never looked at. Whoever starts it calls `end()`.
 */
export class SessionWatch {
  readonly #parts: WatchParts;
  readonly #stop = new AbortController();
  readonly #readyInTime: NodeJS.Timeout;
  #ended: Promise<void> | undefined;
  #doubt: Doubt | undefined;
  #times = 0;
  /** Where another server answers, it knows nothing of the session. */
  #seen = false;
  /** Waits no longer for an answer. */
  #hurry: () => void = () => undefined;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#readyInTime = setTimeout(() => this.#lose(SILENT), parts.times.answerMs);
  }

  /** The session is ready, which may take as long as an answer; from now on it is looked at. */
  begin(session: MoveSession): void {
    clearTimeout(this.#readyInTime);
    this.#ended = this.#watch(session);
  }

  async end(): Promise<void> {
    clearTimeout(this.#readyInTime);
    this.#stop.abort();
    this.#hurry();
    await this.#ended;
  }

  async #watch(session: MoveSession): Promise<void> {
    const { database, purpose } = this.#parts;
    while (await this.#pause()) {
      try {
        await database.dedicated(`${purpose} watch`, CONNECTION_LIMIT_MS, (client) =>
          this.#looks(client, session),
        );
      } catch (error) {
        this.#note(isServerError(error) ? undefined : SILENT); // a refused login is an answer
      }
    }
  }

  /** Ends by throwing, or with the watch. */
  async #looks(client: pg.Client, session: MoveSession): Promise<void> {
    do {
      const look = await this.#answer(lookAt(client, session));
      this.#note(this.#judged(session, look));
    } while (await this.#pause());
  }

  #judged({ awaits }: MoveSession, look: SessionLook | undefined): Doubt | undefined {
    if (!look) return this.#seen ? GONE : undefined;
    this.#seen = true;
    return doubtOf(look, awaits(look.copied));
  }

  #note(doubt: Doubt | undefined): void {
    this.#times = doubt && doubt.evidence === this.#doubt?.evidence ? this.#times + 1 : 1;
    this.#doubt = doubt;
    if (doubt && this.#times >= doubt.looks && !this.#stop.signal.aborted) this.#lose(doubt);
  }

  #lose({ what }: Doubt): void {
    this.#stop.abort();
    this.#parts.lost(unavailable(this.#parts.database.label, `${what}; ${AGAIN}`));
  }

  /** Whether the watch goes on. */
  #pause(): Promise<boolean> {
    const { signal } = this.#stop;
    return pause(this.#parts.times.everyMs, true, { signal, ref: false }).catch(() => false);
  }

  /** @throws where there is none in time, or the watch ends */
  async #answer<T>(question: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const none = new Promise<never>((_resolve, reject) => {
      this.#hurry = () => reject(new Error('timeout expired'));
      timer = setTimeout(this.#hurry, this.#parts.times.answerMs);
    });
    question.catch(() => undefined); // the connection ends with it
    try {
      return await Promise.race([question, none]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const AGAIN = 'nothing is lost: run the same command again';

const LOOK = `select activity.state, extract(epoch from activity.state_change)::text as since,
    activity.wait_event_type as waits, coalesce(progress.bytes_processed, 0)::float8 as copied
  from pg_catalog.pg_stat_activity activity left join pg_catalog.pg_stat_progress_copy progress using (pid)
  where pid = $1 and extract(epoch from activity.backend_start)::text = $2`;

async function lookAt(client: pg.Client, { backend }: MoveSession): Promise<SessionLook | undefined> {
  const { rows } = await client.query<SessionLook>(LOOK, [backend.pid, backend.started]);
  return rows[0];
}
