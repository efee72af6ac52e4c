import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { failureCode, isConnectionFailure, isServerError } from '../shards/database-failure.js';
import type pg from 'pg';
import type { Ask } from './follower.js';

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** After a connection that was lost, or late, while it was written. */
const RETRY_MS = 1000;
/** A burst of changes is confirmed this often. */
const CONFIRM_MS = 200;
/** At the first renewal, and at each so many: rows of processes that were killed are taken away by the others. */
const FORGET_EACH = 100;
/** Nobody waits for another one who does the same. */
const FORGET = `delete from _sharding_processes where process_id in (
  select process_id from _sharding_processes where lease_until < now() - interval '1 day' for update skip locked)`;

/**
 * The row of this process in `_sharding_processes`: that it lives, and up to which revision it routes. An operator, or
 * a move, sees there who is behind. Where it cannot be written the process routes all the same.
 */
export class ProcessLease {
  readonly #id = randomUUID();
  readonly #name = `${hostname()}:${process.pid}`;
  /** On the clock of `performance.now()`. */
  #dueAt = -Infinity;
  #triedAt = -Infinity;
  #written: number | undefined;
  #renewals = 0;
  #warned = false;

  constructor(private readonly warn: (line: string) => void) {}

  /** Whether the row was written. */
  get written(): boolean {
    return this.#written !== undefined;
  }

  /**
   * Says that this process routes by `revision`, where that is due.
   *
   * @throws what says that the connection is lost, or late
   */
  async renew(ask: Ask, revision: number): Promise<void> {
    const now = performance.now();
    const changed = this.#written !== undefined && this.#written !== revision;
    if (now < (changed ? Math.min(this.#dueAt, this.#triedAt + CONFIRM_MS) : this.#dueAt)) return;
    this.#triedAt = now;
    this.#dueAt = now + RENEW_MS;
    try {
      await ask(this.#renewal(revision));
      this.#written = revision;
      this.#warned = false;
    } catch (error) {
      this.#written = undefined; // nobody knows
      if (isRefusal(error)) return this.#refused(error);
      this.#dueAt = now + RETRY_MS;
      throw error;
    }
    if (this.#renewals++ % FORGET_EACH === 0) await ask(FORGET).catch(ifRefused);
  }

  /** The process ends; rows of processes that ended without a word go after a day. */
  end(): pg.QueryConfig {
    return {
      text: `delete from _sharding_processes where process_id = $1 or lease_until < now() - interval '1 day'`,
      values: [this.#id],
    };
  }

  #renewal(revision: number): pg.QueryConfig {
    return {
      text: `insert into _sharding_processes (process_id, name, revision, started_at, lease_until)
        values ($1, $2, $3, now(), now() + make_interval(secs => $4))
        on conflict (process_id) do update set revision = excluded.revision, lease_until = excluded.lease_until`,
      values: [this.#id, this.#name, revision, LEASE_MS / 1000],
    };
  }

  #refused(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    const code = failureCode(error) ?? 'refused';
    this.warn(
      `_sharding_processes cannot be written (${code}): moves will not know what this process routes by`,
    );
  }
}

/** The server answered, and did not do it. */
function isRefusal(error: unknown): boolean {
  return isServerError(error) && !isConnectionFailure(error);
}

/** For want of a right, say: somebody else may have it. */
function ifRefused(error: unknown): void {
  if (!isRefusal(error)) throw error;
}
