import { Logger } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import { CronClock } from './cron-clock.js';
import { failureText } from './failure-text.js';
import { JobWorker } from './job-worker.js';
import type {
  BeforeApplicationShutdown,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common';
import type { Shards } from '@app/sharding';
import type { JobHandlers } from './job-handlers.js';
import type { JobQueue } from './job-queue.js';
import type { JobsSettings } from './jobs.options.js';

interface RuntimeParts {
  readonly queue: JobQueue;
  readonly handlers: JobHandlers;
  readonly shards: Shards;
  readonly settings: JobsSettings;
}

/** The workers and the cron clock of this process. */
export class JobRuntime
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #parts: RuntimeParts;
  readonly #workers = new Map<string, JobWorker>();
  #clock: CronClock | undefined;

  constructor(parts: RuntimeParts) {
    this.#parts = parts;
  }

  /** @throws ShardingError `invalid_options` for handlers that cannot be */
  onModuleInit(): void {
    void this.#parts.handlers.byName;
  }

  /** A control database that is down stops no boot: the loops go on asking. */
  async onApplicationBootstrap(): Promise<void> {
    const { queue, settings } = this.#parts;
    await queue.open().catch(async (error: unknown) => {
      if (error instanceof ShardingError && error.code === 'migrations_pending') {
        await queue.close(); // a boot that fails calls no other hook
        throw error;
      }
      new Logger('Jobs').warn(
        `the control database does not answer: jobs begin later (${failureText(error)})`,
      );
    });
    if (settings.work === 'on') this.#start();
  }

  /** There may be jobs of this name. */
  wake(name: string): void {
    this.#workers.get(name)?.wake();
  }

  /** Ends the work. Requests that HTTP still serves may send. */
  async beforeApplicationShutdown(): Promise<void> {
    const { stopTimeoutMs } = this.#parts.settings;
    await this.#clock?.stop();
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop(stopTimeoutMs)));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#parts.queue.close();
  }

  #start(): void {
    const { queue, shards, settings } = this.#parts;
    const handlers = [...this.#parts.handlers.byName.values()];
    for (const handler of handlers) {
      const worker = new JobWorker({ handler, queue, shards, pollIntervalMs: settings.pollIntervalMs });
      this.#workers.set(handler.name, worker);
      worker.start();
    }
    const crons = handlers.filter(({ cron }) => cron !== undefined);
    this.#clock = new CronClock(crons, queue, (name) => this.wake(name));
    this.#clock.start();
  }
}
