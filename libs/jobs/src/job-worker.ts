import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { within } from '@app/sharding';
import { failureText } from './failure-text.js';
import { routingKeyOf } from './job-data.js';
import type { Shards } from '@app/sharding';
import type { JobHandler } from './job-handlers.js';
import type { JobQueue, TakenJob } from './job-queue.js';

interface WorkerParts {
  readonly handler: JobHandler;
  readonly queue: JobQueue;
  readonly shards: Shards;
  readonly pollIntervalMs: number;
}

/** Until an answer of the queue is asked for again. */
const FINISH_PAUSE_MS = 500;

/** How long a job that was given up may take to be given back. */
const GIVE_BACK_LIMIT_MS = 3000;

/** Runs the jobs of one name: takes them as it has room, and finishes only what is still its own. */
export class JobWorker {
  readonly #parts: WorkerParts;
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();
  /** In turn: nothing more is taken; what runs is given up; nothing is waited for. */
  readonly #stopping = new AbortController();
  readonly #givenUp = new AbortController();
  readonly #ended = new AbortController();
  #wake = new AbortController();
  #loop: Promise<void> | undefined;
  #failing = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#logger = new Logger(`job:${parts.handler.name}`);
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There may be something to do. */
  wake(): void {
    this.#wake.abort();
  }

  /** Waits for running jobs, then ends them and gives them back. Bounded. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    this.wake();
    if (await this.#idle(timeoutMs)) return;
    this.#givenUp.abort();
    await this.#idle(GIVE_BACK_LIMIT_MS);
    this.#ended.abort();
  }

  async #run(): Promise<void> {
    const { handler, pollIntervalMs } = this.#parts;
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController(); // before the look: what is sent meanwhile is not overlooked
      const taken = await this.step();
      if (this.#running.size >= handler.concurrency) await Promise.race(this.#running);
      else if (taken === 0) await pause(pollIntervalMs * (0.9 + 0.2 * Math.random()), this.#wake.signal);
    }
  }

  /** One look; gives how many jobs were begun. */
  async step(): Promise<number> {
    const { handler, queue } = this.#parts;
    const askedAt = performance.now();
    const jobs = await queue
      .take(handler.name, handler.concurrency - this.#running.size)
      .catch((error: unknown) => {
        this.#noteFailure(error);
        return undefined;
      });
    if (!jobs) return 0;
    this.#failing = false;
    for (const job of jobs) this.#begin(job, askedAt + Number(job.expireInSeconds) * 1000);
    return jobs.length;
  }

  #begin(job: TakenJob, leaseEndsAt: number): void {
    const running = this.#attempt(job, leaseEndsAt).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #attempt(job: TakenJob, leaseEndsAt: number): Promise<void> {
    const { queue } = this.#parts;
    const error = this.#stopping.signal.aborted ? STOPPED : await this.#work(job, leaseEndsAt);
    const finish = () => {
      if (error === undefined) return queue.complete(job);
      if (error === STOPPED || this.#givenUp.signal.aborted) return queue.giveBack(job);
      return queue.fail(job, failureText(error));
    };
    if (error !== undefined && error !== STOPPED) this.#logFailure(job, error);
    if ((await this.#finish(finish, leaseEndsAt)) === false) {
      this.#logger.warn(`job ${job.id} had lost its lease: attempt ${job.retryCount + 1} counts for nothing`);
    }
  }

  /** Undefined, or why the attempt has failed. */
  async #work(job: TakenJob, leaseEndsAt: number): Promise<unknown> {
    const { handler, shards } = this.#parts;
    const leftMs = Math.max(1, Math.floor(leaseEndsAt - performance.now()));
    const signal = AbortSignal.any([this.#givenUp.signal, AbortSignal.timeout(leftMs)]);
    const routingKey = routingKeyOf(job.data);
    const context = { id: job.id, name: job.name, attempt: job.retryCount + 1, routingKey, signal };
    const call = async () => void (await handler.call(job.data.payload, context));
    const work = () => (routingKey === undefined ? call() : shards.runFor(routingKey, call));
    const limits = { deadlineMs: leftMs, signal: this.#givenUp.signal };
    try {
      await within(`job "${job.name}"`, limits, work);
      return undefined;
    } catch (error) {
      return error ?? new Error('nothing was thrown');
    }
  }

  /** Asks until the queue has answered or the lease is over. */
  async #finish(step: () => Promise<boolean>, leaseEndsAt: number): Promise<boolean | undefined> {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        this.#noteFailure(error);
        if (performance.now() > leaseEndsAt || this.#ended.signal.aborted) return undefined;
        await pause(FINISH_PAUSE_MS, this.#ended.signal);
      }
    }
  }

  #logFailure(job: TakenJob, error: unknown): void {
    const text = `job ${job.id}: attempt ${job.retryCount + 1} of ${job.retryLimit + 1} failed (${failureText(error)})`;
    if (job.retryCount < job.retryLimit) this.#logger.warn(text);
    else this.#logger.error(`${text}; it is a dead letter`, error instanceof Error ? error.stack : undefined);
  }

  /** Said once; the outage of a database is said by whoever owns it. */
  #noteFailure(error: unknown): void {
    if (!this.#failing) this.#logger.warn(`the queue does not answer (${failureText(error)})`);
    this.#failing = true;
  }

  /** Whether nothing runs any more, within the time. */
  async #idle(limitMs: number): Promise<boolean> {
    const timer = new AbortController();
    const late = pause(limitMs, timer.signal).then(() => false);
    const idle = (async () => {
      await this.#loop;
      await Promise.all(this.#running);
      return true;
    })();
    const done = await Promise.race([idle, late]);
    timer.abort();
    return done;
  }
}

/** The process stops: the attempt has not begun. */
const STOPPED = Symbol('stopped');

/** Until the time is over or the signal fires. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
