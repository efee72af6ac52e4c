import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type pg from 'pg';

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** A burst of changes is confirmed this often. */
const CONFIRM_MS = 200;

/**
 * The row of this process in `_sharding_processes`: that it lives, and up to which revision it routes. An operator, or
 * a move, sees there who is behind.
 */
export class ProcessLease {
  readonly #id = randomUUID();
  readonly #name = `${hostname()}:${process.pid}`;
  #writtenAt = -Infinity;
  #written = -1;

  get written(): boolean {
    return this.#written >= 0;
  }

  /** Milliseconds until the row should be written. */
  dueIn(revision: number, now: number): number {
    const interval = revision === this.#written ? RENEW_MS : CONFIRM_MS;
    return Math.max(0, this.#writtenAt + interval - now);
  }

  /** Says that this process routes by `revision`. */
  renewal(revision: number, now: number): pg.QueryConfig {
    this.#writtenAt = now;
    this.#written = revision;
    return {
      text: `insert into _sharding_processes (process_id, name, revision, started_at, lease_until)
        values ($1, $2, $3, now(), now() + make_interval(secs => $4))
        on conflict (process_id) do update set revision = excluded.revision, lease_until = excluded.lease_until`,
      values: [this.#id, this.#name, revision, LEASE_MS / 1000],
    };
  }

  /** The process ends; rows of processes that ended without a word go after a day. */
  end(): pg.QueryConfig {
    return {
      text: `delete from _sharding_processes where process_id = $1 or lease_until < now() - interval '1 day'`,
      values: [this.#id],
    };
  }
}
