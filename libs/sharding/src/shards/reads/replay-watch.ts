import { setTimeout as pause } from 'node:timers/promises';
import type { Lsn } from './lsn.js';

/** Between two questions to the replica while somebody waits. */
const ASK_EVERY_MS = 5;

interface Waiter {
  readonly lsn: Lsn;
  readonly until: number;
  readonly done: (reached: boolean) => void;
}

/** Waits for positions that a replica has to reach: one question at a time, however many wait. */
export class ReplayWatch {
  #waiters: Waiter[] = [];
  #watching = false;
  #asking: Promise<Lsn> | undefined;

  /** @param replayed asks the replica how far it is */
  constructor(private readonly replayed: () => Promise<Lsn>) {}

  /** False after `waitMs`, or when the replica cannot be asked. */
  reached(lsn: Lsn, waitMs: number): Promise<boolean> {
    return new Promise<boolean>((done) => {
      this.#waiters.push({ lsn, until: performance.now() + waitMs, done });
      if (!this.#watching) void this.#watch();
    });
  }

  async #watch(): Promise<void> {
    this.#watching = true;
    while (this.#waiters.length > 0) {
      const earliest = Math.min(...this.#waiters.map(({ until }) => until));
      const at = await this.#ask(earliest - performance.now());
      this.#settle(at);
      if (this.#waiters.length > 0) await pause(ASK_EVERY_MS, undefined, { ref: false });
    }
    this.#watching = false;
  }

  /** Undefined when the answer does not come before somebody's time is up. */
  async #ask(limitMs: number): Promise<Lsn | undefined> {
    this.#asking ??= this.replayed().finally(() => (this.#asking = undefined));
    const late = new AbortController();
    const expired = pause(Math.max(1, limitMs), undefined, { ref: false, signal: late.signal });
    try {
      return await Promise.race([this.#asking, expired]);
    } catch {
      return undefined;
    } finally {
      late.abort();
      expired.catch(() => undefined);
    }
  }

  #settle(at: Lsn | undefined): void {
    const now = performance.now();
    this.#waiters = this.#waiters.filter(({ lsn, until, done }) => {
      const reached = at !== undefined && at >= lsn;
      if (!reached && now < until) return true;
      done(reached);
      return false;
    });
  }
}
