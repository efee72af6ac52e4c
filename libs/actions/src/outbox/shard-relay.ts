import { setMaxListeners } from 'node:events';
import { within } from '@app/sharding';
import { Delivery } from './delivery.js';
import { Lanes } from './lanes.js';
import { readWaiting, writeDelivered, writeFailed } from './outbox-statements.js';
import { RelayLease } from './relay-lease.js';
import { Retention } from './retention.js';
import { Wake, untilBeat } from './wake.js';
import type { Shard, ShardDb } from '@app/sharding';
import type { Lane } from './lanes.js';
import type { OutboxSettings } from './outbox-settings.js';
import type { RelayLog } from './relay-log.js';
import type { Subscribers } from './subscribers.js';
import type { Outcome } from './waiting-event.js';

export interface RelayParts {
  readonly shard: Shard;
  readonly subscribers: Subscribers;
  readonly settings: OutboxSettings;
  readonly log: RelayLog;
}

/** After work, and doubled with each look that finds nothing. */
const SHORTEST_PAUSE_MS = 10;
/** A shard that cannot be asked is tried again after so long, doubled up to the second. */
const TROUBLE_MS = [200, 5000] as const;
/** Events of one aggregate that are in memory. */
const PER_LANE = 50;

/**
 * Delivers the events of one shard while it has the lease: reads those that wait, hands each aggregate's one after the other
 * to handlers and publishers, and writes how that ended. Nothing of the database is held meanwhile.
 */
export class ShardRelay {
  readonly #parts: RelayParts;
  readonly #lease: RelayLease;
  readonly #lanes: Lanes;
  readonly #delivery: Delivery;
  readonly #retention: Retention;
  readonly #wake = new Wake();
  readonly #giveUp = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** What is to be written: ends of attempts, and lanes in which nothing is under way any more. */
  #outcomes: Outcome[] = [];
  #ended: Lane[] = [];
  #pauseMs = SHORTEST_PAUSE_MS;
  #troubles = 0;
  #stopping = false;
  #loop: Promise<void> | undefined;

  constructor(parts: RelayParts) {
    const { shard, subscribers, settings } = (this.#parts = parts);
    const { batchSize, handlerTimeoutMs, maxAttempts, firstRetryMs, mostRetryMs } = settings;
    setMaxListeners(0, this.#giveUp.signal); // one for each event under way
    this.#lease = new RelayLease(settings.leaseMs);
    this.#retention = new Retention(settings);
    this.#lanes = new Lanes({ events: 2 * batchSize, perLane: PER_LANE });
    this.#delivery = new Delivery({
      shard: shard.name,
      subscribers,
      handlerTimeoutMs,
      maxAttempts,
      signal: this.#giveUp.signal,
      backoff: { firstMs: firstRetryMs, mostMs: mostRetryMs },
    });
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There may be something to deliver. */
  wake(): void {
    this.#wake.wake();
  }

  /** Begins no further attempt, waits a bounded time for those under way, writes their ends and gives the lease away. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) await this.#wake.pause(await this.#step());
    await this.#end();
  }

  /** @returns how long to wait for the next one */
  async #step(): Promise<number> {
    try {
      const pauseMs = await this.#look(await this.#parts.shard.primary());
      if (this.#troubles > 0) this.#parts.log.well();
      this.#troubles = 0;
      return pauseMs;
    } catch (error) {
      this.#parts.log.trouble(error);
      const [first, most] = TROUBLE_MS;
      return Math.min(most, first * 2 ** this.#troubles++) * (0.5 + Math.random() / 2);
    }
  }

  async #look(db: ShardDb): Promise<number> {
    const lease = await this.#lease.hold(db);
    if (!lease) return this.#lease.dueInMs;
    await this.#write(db);
    await this.#retention.step(db);
    const { batchSize, idleMs } = this.#parts.settings;
    const limit = Math.min(batchSize, this.#lanes.room);
    if (limit < batchSize / 4) return this.#lease.dueInMs; // the end of a lane wakes
    const events = await readWaiting(db, this.#lanes.aggregates(), limit);
    for (const lane of this.#lanes.open(events)) this.#deliver(lane);
    if (events.length === limit) return 0;
    this.#pauseMs = events.length > 0 ? SHORTEST_PAUSE_MS : Math.min(this.#pauseMs * 2, idleMs);
    const pauseMs = this.#pauseMs < idleMs ? this.#pauseMs : untilBeat(idleMs);
    return Math.min(pauseMs, this.#lease.dueInMs);
  }

  /** What could not be written is written later; without the lease somebody else delivers it again. */
  async #write(db: ShardDb): Promise<void> {
    const outcomes = this.#outcomes.splice(0);
    const ended = this.#ended.splice(0);
    try {
      if (outcomes.length > 0 && !(await this.#writeOutcomes(db, outcomes))) this.#lease.lost();
      for (const lane of ended) this.#lanes.close(lane);
    } catch (error) {
      this.#outcomes.unshift(...outcomes);
      this.#ended.unshift(...ended);
      throw error;
    }
  }

  async #writeOutcomes(db: ShardDb, outcomes: readonly Outcome[]): Promise<boolean> {
    const term = this.#lease.term;
    if (!term) return false;
    const failed = outcomes.filter((outcome) => outcome.failure !== undefined);
    const positions = outcomes.flatMap((one) => (one.failure === undefined ? [one.position] : []));
    const keep = this.#parts.settings.deliveredDays > 0 ? 'rows' : 'nothing';
    if (positions.length > 0 && !(await writeDelivered(db, term, { positions, keep }))) return false;
    if (failed.length > 0 && !(await writeFailed(db, term, failed))) return false;
    for (const { failure, retryMs } of failed) if (retryMs === undefined) this.#parts.log.dead(failure);
    return true;
  }

  #deliver(lane: Lane): void {
    const running = this.#attempts(lane).finally(() => {
      this.#running.delete(running);
      this.#ended.push(lane);
      this.wake();
    });
    this.#running.add(running);
  }

  /** Up to the first failure, which holds the later ones. */
  async #attempts({ events }: Lane): Promise<void> {
    for (const event of events) {
      if (this.#stopping || !this.#lease.term) return;
      const outcome = await this.#delivery.attempt(event);
      if (!outcome) return;
      this.#outcomes.push(outcome);
      this.wake();
      if (outcome.failure !== undefined) return;
    }
  }

  async #end(): Promise<void> {
    const { shard, settings } = this.#parts;
    const late = setTimeout(() => this.#giveUp.abort(), settings.shutdownMs);
    await Promise.all(this.#running);
    clearTimeout(late);
    const goodbye = async () => {
      const db = await shard.primary();
      await this.#write(db);
      await this.#lease.release(db);
    };
    if (!this.#lease.term) return;
    await within('the end of a relay', { deadlineMs: GOODBYE_MS }, goodbye).catch(() => undefined); // the lease runs out
  }
}

const GOODBYE_MS = 2000;
