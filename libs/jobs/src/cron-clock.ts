import { Logger } from '@nestjs/common';
import { dueTimes } from './due-time.js';
import { failureText } from './failure-text.js';
import { jobData, occurrenceId } from './job-data.js';
import { pause } from './job-worker.js';
import type { CronTick } from './cron.decorator.js';
import type { JobHandler } from './job-handlers.js';
import type { JobQueue } from './job-queue.js';

/** How late a run may be that nobody was there for. The queue remembers for longer what it has taken. */
const CATCH_UP_MS = 3_600_000;

/** The longest time between two looks at the server's clock, and the time until a failed one is repeated. */
const LOOK_MS = 30_000;
const RETRY_MS = 1000;

/** Puts a job into the queue for each time that a cron is due. All processes do; the queue takes each time once. */
export class CronClock {
  readonly #logger = new Logger('Cron');
  readonly #stopping = new AbortController();
  /** When each cron came to be, by the server's clock: it is not due for earlier times. */
  #since: ReadonlyMap<string, number> | undefined;
  readonly #sent = new Map<string, number>();
  #loop: Promise<void> | undefined;
  #failing = false;

  constructor(
    private readonly crons: readonly JobHandler[],
    private readonly queue: JobQueue,
    private readonly wake: (name: string) => void,
  ) {}

  start(): void {
    if (this.crons.length > 0) this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const waitMs = await this.step().catch((error: unknown) => {
        if (!this.#failing) this.#logger.warn(`the time cannot be asked for (${failureText(error)})`);
        this.#failing = true;
        return RETRY_MS;
      });
      await pause(waitMs, this.#stopping.signal);
    }
  }

  /** Sends what is due; gives the milliseconds until the next look. */
  async step(): Promise<number> {
    const now = await this.#now();
    this.#since ??= await this.#created();
    let waitMs = LOOK_MS;
    for (const handler of this.crons) {
      const next = await this.#send(handler, now);
      waitMs = Math.min(waitMs, Math.max(1, next - now));
    }
    this.#failing = false;
    return waitMs;
  }

  /** Gives when the cron is due next. */
  async #send(handler: JobHandler, now: number): Promise<number> {
    const { name, cron, retry, leaseSeconds } = handler;
    if (!cron) return Infinity;
    const { last, next } = dueTimes(cron.expression, cron.timeZone ?? 'UTC', new Date(now));
    const from = Math.max(now - CATCH_UP_MS, this.#since?.get(name) ?? now);
    if (last.getTime() > from && this.#sent.get(name) !== last.getTime()) {
      const tick: CronTick = { dueAt: last.toISOString() };
      const data = jobData(tick, undefined);
      await this.queue.send({ name, data, retry, leaseSeconds, id: occurrenceId(name, tick.dueAt) });
      this.#sent.set(name, last.getTime());
      this.wake(name);
    }
    return next.getTime();
  }

  async #now(): Promise<number> {
    const sql = () => `select extract(epoch from clock_timestamp())::float8 * 1000 as now`;
    const [row] = await this.queue.query<{ now: number }>(sql);
    return Math.floor(row?.now ?? Number.NaN);
  }

  async #created(): Promise<Map<string, number>> {
    const rows = await this.queue.query<{ name: string; since: number }>(
      (schema) => `select name, extract(epoch from created_on)::float8 * 1000 as since
        from ${schema}.queue where name = any($1)`,
      [this.crons.map(({ name }) => name)],
    );
    return new Map(rows.map(({ name, since }) => [name, since]));
  }
}
