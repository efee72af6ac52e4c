import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { LISTEN } from './directory-statements.js';
import type pg from 'pg';

/** Asks the control database one question. */
export type Ask = <Row extends pg.QueryResultRow>(query: pg.QueryConfig | string) => Promise<Row[]>;

/** What a step of {@link Follower} does with the directory. */
export interface Followed {
  /** The connection is new: everything is read. */
  reload(ask: Ask): Promise<void>;
  /** What changed since. @returns whether anything did */
  catchUp(ask: Ask): Promise<boolean>;
  /** Nobody answered, by neither way. */
  failed(error: Error): void;
}

/** What is told of the listener. */
export interface Hearing {
  /** It cannot be had, and the pool answered. */
  deaf(error: Error): void;
  /** It is there. */
  listens(): void;
}

/** How the control database is asked. */
export interface Ways {
  /** The connection that listens. Rejects once it is late; it is then a new one. */
  readonly listener: Ask;
  /** The pool, for when the listening connection cannot be had. */
  readonly pool: Ask;
}

/** Between two questions on a quiet connection. */
const HEARTBEAT_MS = 1000;
/** Between two attempts to connect: doubled from the first to the second, and up to half of it less. */
const RETRY_MS = [100, 2000] as const;
/** After a notification that brought nothing; anybody who may connect may send those. */
const IDLE_WAKE_MS = 10;
/** Every wait of the loop is shorter: a process in which nothing happened for so long was stopped, or busy. */
const STILL_MS = 3000;

/**
 * The loop that keeps a directory fresh: one question each heartbeat and for each notification, on the connection that
 * listens, so that a connection that died silently is noticed by the next one.
 */
export class Follower {
  /** Whether notifications arrive; false from the first sign of trouble. */
  listening = false;
  /** The last question was not answered. */
  trouble: Error | undefined;
  readonly #stop = new AbortController();
  #pausing = new AbortController();
  #woken = false;
  #idle = false;
  #failures = 0;
  #step: Promise<void> | undefined;
  #loop: Promise<void> | undefined;
  readonly #ways: Ways;
  /** A step is for all that wait for it, so it belongs to no request. */
  readonly #outside = new AsyncResource('nestjs-sharding.directory');
  /** When the loop was last seen to run, on the clock of `performance.now()`: a busy process may run, and the loop not. */
  #ranAt = Infinity;
  #standstills = 0;
  /** After so many standstills a whole step was made. */
  #askedAfter = 0;

  constructor(
    private readonly followed: Followed,
    ways: Ways,
    private readonly hearing: Hearing,
  ) {
    this.#ways = { listener: this.#watched(ways.listener), pool: this.#watched(ways.pool) };
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whether the loop stood still and has not asked since: what changed meanwhile only a {@link freshStep} tells. */
  get stoodStill(): boolean {
    if (this.stopped) return false;
    return this.#standstills > this.#askedAfter || performance.now() - this.#ranAt > STILL_MS;
  }

  /** Begins the loop. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Something may have changed. */
  wake(): void {
    this.#woken = true;
    this.#pausing.abort();
  }

  /** The connection ended: nobody listens. */
  lost(): void {
    this.listening = false;
    if (!this.#step) this.wake(); // a step under way sees it by itself
  }

  /** A step that begins now or later; never rejects. */
  async freshStep(): Promise<void> {
    await this.#step;
    if (this.stopped) return;
    this.wake();
    await (this.#step ?? this.step());
  }

  /** One question, at once. The same for all who ask at the same time. */
  step(): Promise<void> {
    return (this.#step ??= this.#outside
      .runInAsyncScope(() => this.#once())
      .finally(() => (this.#step = undefined)));
  }

  /** Ends the loop, after the statement under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#pausing.abort();
    await Promise.all([this.#loop, this.#step]); // the first step may be under way before the loop
  }

  async #once(): Promise<void> {
    this.#runs();
    const standstills = this.#standstills;
    await this.#ask();
    this.#askedAfter = standstills;
  }

  async #ask(): Promise<void> {
    try {
      if (this.listening) this.#idle = !(await this.followed.catchUp(this.#ways.listener));
      else await this.#listen();
      this.trouble = undefined;
      this.#failures = 0;
      if (!this.listening) this.wake(); // lost after the answer
    } catch (error) {
      if (this.stopped) return;
      this.listening = false;
      this.trouble = error as Error;
      this.#failures++;
      await this.#poll(error as Error);
    }
  }

  async #listen(): Promise<void> {
    await this.#ways.listener(LISTEN);
    this.listening = true; // `lost` says otherwise
    await this.followed.reload(this.#ways.listener);
    if (!this.listening) throw new Error('the connection was lost at once');
    this.hearing.listens();
  }

  /** Without the listener the pool may still answer: what changed is then known a little later. */
  async #poll(reason: Error): Promise<void> {
    try {
      await this.followed.catchUp(this.#ways.pool);
      this.trouble = undefined;
      this.hearing.deaf(reason);
    } catch {
      this.followed.failed(reason); // the reason that counts is that of the listener
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.step();
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    if (this.listening) await this.#untilAsked();
    if (!this.listening) await this.#sleep(retryMs(this.#failures), this.#stop.signal); // also when it was lost just now
    this.#woken = false;
  }

  async #untilAsked(): Promise<void> {
    if (this.#woken && this.#idle) await this.#sleep(IDLE_WAKE_MS, this.#stop.signal);
    this.#pausing = new AbortController();
    if (this.#woken || this.stopped) return;
    await this.#sleep(HEARTBEAT_MS * (0.9 + Math.random() / 10), this.#pausing.signal);
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#runs();
    await pause(ms, undefined, { ref: false, signal }).catch(() => undefined);
    this.#runs();
  }

  #watched(ask: Ask): Ask {
    return async (query) => {
      if (this.stopped) throw new Error('the directory is not followed any more');
      this.#runs();
      try {
        return await ask(query);
      } finally {
        this.#runs();
      }
    };
  }

  #runs(): void {
    const now = performance.now();
    if (now - this.#ranAt > STILL_MS) this.#standstills++;
    this.#ranAt = now;
  }
}

/** How long after so many failures the next attempt is made. @param chance 0 to 1: processes that lost one server come apart */
export function retryMs(failures: number, chance = Math.random()): number {
  const [first, most] = RETRY_MS;
  const doubled = Math.min(most, first * 2 ** Math.max(0, failures - 1));
  return doubled * (0.5 + chance / 2);
}
