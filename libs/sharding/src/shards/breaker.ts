import { Logger } from '../logger.js';
import { failureCode, failureReason, isPoolTimeout, unavailable } from './database-failure.js';

/** `closed` lets checkouts pass, `open` refuses them at once, `half_open` refuses them while it looks. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/** So many connections that fail in a row open the breaker. */
const FAILURES_TO_OPEN = 3;
const FIRST_PROBE_MS = 100;
const LAST_PROBE_MS = 1000;
/** Connections in use that give no answer for so long make a probe look. */
const STALL_MS = 1000;

/** too_many_connections: the server is there. */
const SERVER_FULL = '53300';

interface BreakerParts {
  readonly label: string;
  /** Asks the server on a connection of its own; bounded. */
  readonly probe: () => Promise<unknown>;
  /** Connections of the pool that somebody uses now. */
  readonly active: () => number;
  /** The server is gone, so connections that wait in the pool are of no use; they may be dead without knowing. */
  readonly opened?: () => void;
}

/**
 * Refuses checkouts of one database at once while it is known to be gone. It opens after a few connections that failed
 * in a row, or when a probe finds a server that has stopped answering; probes, never requests, find out when it is back.
 * An outage is logged once when it begins and once when it ends.
 */
export class Breaker {
  readonly #parts: BreakerParts;
  readonly #logger: Logger;
  #state: BreakerState = 'closed';
  #failures = 0;
  #reason = '';
  #told = false;
  #closed = false;
  #answered = false;
  #looking = false;
  #stall: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: BreakerParts) {
    this.#parts = parts;
    this.#logger = new Logger(parts.label);
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** @throws ShardingError `shard_unavailable` or `replica_unavailable` while it is open */
  assertClosed(): void {
    if (this.#state === 'closed') return;
    const why = `is unavailable: its last connections failed (${this.#reason})`;
    throw unavailable(this.#parts.label, `${why}, and it is probed until one works`);
  }

  /** A connection was made or found. An open breaker believes its probes alone. */
  succeeded(): void {
    if (this.#state === 'closed') this.proved();
  }

  /** A probe was answered: the server is there. */
  proved(): void {
    this.#failures = 0;
    this.#state = 'closed';
    clearTimeout(this.#timer);
    if (!this.#told) return;
    this.#told = false;
    this.#logger.log('is reachable again');
  }

  /** A connection could not be made. A busy pool is no failure, but a reason to look. */
  failed(error: unknown): void {
    if (this.#closed) return;
    if (isPoolTimeout(error)) return void this.look();
    this.#tell(error);
    if (failureCode(error) === SERVER_FULL) return; // connections that the pool has go on working
    if (this.#state === 'closed' && ++this.#failures >= FAILURES_TO_OPEN) this.#open();
  }

  /** Somebody uses a connection: were it never to answer, a probe would look. */
  used(): void {
    this.#stall ??= setTimeout(() => this.#stalled(), STALL_MS).unref();
  }

  /** A statement was answered. */
  answered(): void {
    this.#answered = true;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#stall);
  }

  #stalled(): void {
    this.#stall = undefined;
    const quiet = !this.#answered;
    this.#answered = false;
    if (this.#closed || this.#parts.active() === 0) return;
    this.used();
    if (quiet) void this.look();
  }

  /** Something may be wrong, such as a statement that was not answered: one probe decides. Never rejects. */
  async look(): Promise<void> {
    if (this.#looking || this.#closed || this.#state !== 'closed') return;
    this.#looking = true;
    try {
      await this.#probeServer().catch((error: unknown) => this.#probeOnceMore(error));
    } catch (error) {
      this.#tell(error);
      this.#open();
    } finally {
      this.#looking = false;
    }
  }

  #open(): void {
    if (this.#closed || this.#state !== 'closed') return;
    this.#state = 'open';
    this.#parts.opened?.();
    this.#later(FIRST_PROBE_MS);
  }

  #later(ms: number): void {
    const jittered = ms * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => void this.#probe(Math.min(2 * ms, LAST_PROBE_MS)), jittered).unref();
  }

  async #probe(next: number): Promise<void> {
    if (this.#closed || this.#state === 'closed') return;
    this.#state = 'half_open';
    try {
      await this.#probeServer();
      this.proved();
    } catch {
      if (this.#closed || this.#state !== 'half_open') return;
      this.#state = 'open';
      this.#later(next);
    }
  }

  /** No answer in time may be the fault of this process: it is asked twice. */
  #probeOnceMore(error: unknown): Promise<void> {
    if (failureCode(error) !== undefined) throw error;
    return this.#probeServer();
  }

  async #probeServer(): Promise<void> {
    await this.#parts.probe().catch((error: unknown) => {
      if (failureCode(error) !== SERVER_FULL) throw error;
    });
  }

  #tell(error: unknown): void {
    this.#reason = failureReason(error);
    if (this.#told) return;
    this.#told = true;
    this.#logger.warn(`cannot be reached (${this.#reason})`);
  }
}
