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

  constructor(
    private readonly followed: Followed,
    private readonly ways: Ways,
  ) {}

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
    this.wake();
    await (this.#step ?? this.step());
  }

  /** One question, at once. The same for all who ask at the same time. */
  step(): Promise<void> {
    return (this.#step ??= this.#once().finally(() => (this.#step = undefined)));
  }

  /** Ends the loop, after the step under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#pausing.abort();
    await this.#loop;
  }

  async #once(): Promise<void> {
    try {
      if (this.listening) this.#idle = !(await this.followed.catchUp(this.ways.listener));
      else await this.#listen();
      this.trouble = undefined;
      this.#failures = 0;
    } catch (error) {
      this.listening = false;
      this.trouble = error as Error;
      this.#failures++;
      await this.#poll(error as Error);
    }
  }

  async #listen(): Promise<void> {
    await this.ways.listener(LISTEN);
    this.listening = true; // `lost` says otherwise
    await this.followed.reload(this.ways.listener);
    if (!this.listening) throw new Error('the connection was lost at once');
  }

  /** Without the listener the pool may still answer: what changed is then known a little later. */
  async #poll(reason: Error): Promise<void> {
    try {
      await this.followed.catchUp(this.ways.pool);
      this.trouble = undefined;
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
    if (this.#woken && this.#idle) await this.#sleep(IDLE_WAKE_MS, this.#stop.signal);
    this.#pausing = new AbortController();
    if (!this.#woken && !this.#stop.signal.aborted) await this.#sleep(this.#rest(), this.#pausing.signal);
    this.#woken = false;
  }

  #rest(): number {
    if (this.#failures === 0) return HEARTBEAT_MS * (0.9 + Math.random() / 10);
    const [first, most] = RETRY_MS;
    return Math.min(most, first * 2 ** (this.#failures - 1)) * (0.5 + Math.random() / 2);
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, undefined, { ref: false, signal }).catch(() => undefined);
  }
}
