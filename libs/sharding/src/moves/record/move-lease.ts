import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { endLease, lease, movesByPrefix, renewLease, writeStep, type MoveChange } from './move-rows.js';
import { hasEnded, type MoveRecord } from './move-record.js';
import type { MoveSession } from '../move-session.js';

export interface LeaseOptions {
  readonly leaseMs: number;
  /** How long to wait for a mover that still holds it. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly note: (line: string) => void;
}

const POLL_MS = 100;

/** Who works on a move: holds its lease, renews it, and writes its record. Whoever takes it calls `end()`. */
export class MoveLease {
  readonly #lost = new AbortController();
  readonly #renewal: NodeJS.Timeout;
  #record: MoveRecord;
  #renewedAt = performance.now();

  private constructor(
    private readonly session: MoveSession,
    record: MoveRecord,
    private readonly leaseMs: number,
  ) {
    this.#record = record;
    this.#renewal = setInterval(() => void this.#renew(), leaseMs / 3);
    this.#renewal.unref();
  }

  /** @throws ShardingError `unknown_move`; `move_refused` where another mover does not let go of it */
  static async take(session: MoveSession, id: string, options: LeaseOptions): Promise<MoveLease> {
    const ends = performance.now() + options.waitMs;
    for (let attempt = 0; ; attempt++) {
      const taken = await lease(session, id, options.leaseMs);
      if (taken) return new MoveLease(session, taken, options.leaseMs);
      const [held] = await movesByPrefix(session, id);
      if (!held) throw new ShardingError('unknown_move', `there is no move ${id}`);
      if (attempt === 0) options.note(`another mover holds move ${id}${until(held)}: waiting`);
      if (performance.now() >= ends) throw heldByAnother(held);
      await pause(POLL_MS, undefined, { ...(options.signal && { signal: options.signal }) });
    }
  }

  get record(): MoveRecord {
    return this.#record;
  }

  /** Fires when somebody else has taken the move, or nobody can say. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Writes that a step is done. @throws ShardingError `move_refused` where a later epoch stands there */
  async write(change: MoveChange): Promise<void> {
    const written = await writeStep(this.session, this.#record, change);
    if (!written) throw lostLease(this.#record.id);
    this.#record = written;
  }

  async end(): Promise<void> {
    clearInterval(this.#renewal);
    if (!this.#lost.signal.aborted) await endLease(this.session, this.#record).catch(() => undefined); // it runs out
  }

  /** A control database that is silent may have given the move away by now. */
  async #renew(): Promise<void> {
    const askedAt = performance.now();
    if (askedAt - this.#renewedAt > this.leaseMs) return this.#lose();
    const held = await renewLease(this.session, this.#record, this.leaseMs).catch(() => false);
    if (held) this.#renewedAt = askedAt;
    else this.#lose();
  }

  #lose(): void {
    clearInterval(this.#renewal);
    this.#lost.abort(lostLease(this.#record.id));
    void this.session.client.end().catch(() => undefined); // what waits for an answer there rejects
  }
}

export function lostLease(id: string): ShardingError {
  return new ShardingError(
    'move_refused',
    `another mover has taken move ${id}, or the control database does not answer: look at it with "move show"`,
  );
}

function heldByAnother(move: MoveRecord): ShardingError {
  if (hasEnded(move))
    return new ShardingError('move_refused', `move ${move.id} has ended: it is ${move.state}`);
  return new ShardingError('move_refused', `another mover holds move ${move.id}${until(move)}: wait for it`);
}

function until({ leasedUntil }: MoveRecord): string {
  return leasedUntil ? ` until ${leasedUntil.toISOString()} unless it goes on` : '';
}
