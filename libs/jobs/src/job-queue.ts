import { Logger } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import type PgBoss from 'pg-boss';
import type { ControlPool, RunStatement } from '@app/sharding';
import type { JobHandlers } from './job-handlers.js';
import type { JobData } from './job-data.js';
import type { RetryOptions } from './job.decorator.js';
import type { JobsSettings } from './jobs.options.js';
import type { PgBossClass } from './load-pg-boss.js';

/** Bound of each step on the control database. */
const STEP_LIMIT_MS = 10_000;

/** What is sent. */
export interface NewJob {
  readonly name: string;
  readonly data: JobData;
  readonly retry: Required<RetryOptions>;
  readonly leaseSeconds: number;
  readonly id?: string;
  readonly startAfter?: Date | number;
  readonly singletonKey?: string;
}

/** One attempt at a job, which is this process's until its lease ends. */
export interface TakenJob {
  readonly id: string;
  readonly name: string;
  readonly data: JobData;
  /** Attempts before this one; the fence: a later attempt has a higher number. */
  readonly retryCount: number;
  readonly retryLimit: number;
  /** Of this attempt, as text or number. */
  readonly expireInSeconds: number | string;
}

interface QueueParts {
  readonly pool: ControlPool;
  readonly settings: JobsSettings;
  readonly handlers: JobHandlers;
  readonly PgBoss: PgBossClass;
}

/** A name that no job can have. */
export const deadNameOf = (name: string): string => `${name}:dead`;

/** The tables of pg-boss on the control database. Opens at its first use, and again after a failure. */
export class JobQueue {
  readonly #parts: QueueParts;
  readonly #logger = new Logger('Jobs');
  #opening: Promise<PgBoss> | undefined;
  #closed = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** @throws ShardingError `migrations_pending` where the tables are missing and may not be made; `shard_unavailable` */
  async open(): Promise<PgBoss> {
    if (this.#closed) throw new ShardingError('aborted', 'the jobs of this process have stopped');
    return (this.#opening ??= this.#open());
  }

  /** @returns the id; undefined where the same job is waiting already */
  async send(job: NewJob, run?: RunStatement): Promise<string | undefined> {
    const boss = await this.open();
    const options = {
      retryLimit: job.retry.limit,
      retryDelay: job.retry.delaySeconds,
      retryBackoff: job.retry.backoff === 'exponential',
      expireInSeconds: job.leaseSeconds,
      deadLetter: deadNameOf(job.name),
      singletonKey: job.singletonKey ?? crypto.randomUUID(), // without one every waiting job would be the same
      ...(job.id !== undefined && { id: job.id }),
      ...(job.startAfter !== undefined && { startAfter: job.startAfter }),
      ...(run && { db: asDb(run) }),
    };
    return (await boss.send(job.name, job.data, options)) ?? undefined;
  }

  /** Takes up to so many jobs that are due by the server's clock. */
  async take(name: string, count: number): Promise<TakenJob[]> {
    const boss = await this.open();
    let failure: unknown; // pg-boss takes a failure for no jobs
    const run: RunStatement = (sql, parameters) =>
      this.#run(sql, parameters).catch((error: unknown) => {
        failure = error;
        throw error;
      }) as Promise<never[]>;
    const options = { batchSize: count, includeMetadata: true, db: asDb(run) } as const;
    const jobs = await boss.fetch<JobData>(name, options);
    if (failure !== undefined) throw failure;
    return jobs;
  }

  /** False: the lease is lost, and nothing was done. pg-boss itself would finish whatever attempt runs. */
  complete(job: TakenJob): Promise<boolean> {
    return this.#end(job, `set state = 'completed', completed_on = now(), output = null`);
  }

  /** Gives an attempt back that the shutdown has ended: another worker has it at once, and it does not count. */
  giveBack(job: TakenJob): Promise<boolean> {
    return this.#end(job, `set state = 'retry', start_after = now(), retry_limit = retry_limit + 1`);
  }

  /** Plans the next attempt, or makes it a dead letter. */
  async fail(job: TakenJob, failure: string): Promise<boolean> {
    const boss = await this.open();
    const { schema } = this.#parts.settings;
    return this.#parts.pool.tx(STEP_LIMIT_MS, async (run) => {
      const mine = await run(`select 1 from ${schema}.job ${FENCE} for update`, fenceOf(job));
      if (mine.length === 0) return false;
      await boss.fail(job.name, job.id, { failure }, { db: asDb(run) });
      return true;
    });
  }

  /** One transaction on the tables. */
  async tx<T>(work: (run: RunStatement, schema: string) => Promise<T>): Promise<T> {
    await this.open();
    return this.#parts.pool.tx(STEP_LIMIT_MS, (run) => work(run, this.#parts.settings.schema));
  }

  async query<Row>(sql: (schema: string) => string, parameters: readonly unknown[] = []): Promise<Row[]> {
    await this.open();
    return this.#run<Row>(sql(this.#parts.settings.schema), parameters);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const boss = await this.#opening?.catch(() => undefined);
    await boss?.stop({ graceful: false, close: false });
    await this.#parts.pool.close();
  }

  readonly #run: RunStatement = (sql, parameters) => this.#parts.pool.query(STEP_LIMIT_MS, sql, parameters);

  async #end(job: TakenJob, change: string): Promise<boolean> {
    const { schema } = this.#parts.settings;
    const sql = `update ${schema}.job ${change} ${FENCE} returning 1`;
    return (await this.#run(sql, fenceOf(job))).length > 0;
  }

  async #open(): Promise<PgBoss> {
    const { settings, PgBoss } = this.#parts;
    const boss = new PgBoss({
      db: asDb(this.#run),
      schema: settings.schema,
      migrate: settings.createSchema === 'on',
      supervise: settings.work === 'on',
      maintenanceIntervalSeconds: settings.maintenanceIntervalSeconds,
      schedule: false, // it compares times of two clocks
    });
    boss.on('error', (error) => this.#logger.warn(`maintenance of the jobs failed (${nameOf(error)})`));
    try {
      await boss.start();
      await this.#createQueues();
      return boss;
    } catch (error) {
      this.#opening = undefined; // one that failed to start cannot be started again
      await boss.stop({ graceful: false, close: false }).catch(() => undefined);
      throw startError(error, settings.schema);
    }
  }

  /** In turn with other processes. A short queue holds one waiting job of each singleton key. */
  async #createQueues(): Promise<void> {
    const { pool, settings, handlers } = this.#parts;
    const names = [...handlers.byName.keys()].flatMap((job) => [deadNameOf(job), job]);
    await pool.tx(STEP_LIMIT_MS, async (run) => {
      await run(`select pg_advisory_xact_lock(hashtextextended('nestjs_sharding.jobs ' || $1, 0))`, [
        settings.schema,
      ]);
      const queues = await run<{ name: string }>(`select name from ${settings.schema}.queue`);
      const known = new Set(queues.map(({ name }) => name));
      for (const name of names.filter((wanted) => !known.has(wanted))) {
        const policy = name.includes(':') ? 'standard' : 'short';
        await run(`select ${settings.schema}.create_queue($1, $2::json)`, [name, { policy }]);
      }
    });
  }
}

/** The row of an attempt that still has its lease. */
const FENCE = `where name = $1 and id = $2 and state = 'active' and retry_count = $3`;

function fenceOf({ name, id, retryCount }: TakenJob): unknown[] {
  return [name, id, retryCount];
}

function asDb(run: RunStatement): PgBoss.Db {
  return { executeSql: async (sql, parameters?: unknown[]) => ({ rows: await run(sql, parameters) }) };
}

/** What pg-boss says of tables that it may not make. */
const NOT_THERE = /^pg-boss (is not installed|database requires migrations)$/;

function startError(error: unknown, schema: string): unknown {
  if (!(error instanceof Error) || !NOT_THERE.test(error.message)) return error;
  return new ShardingError(
    'migrations_pending',
    `the tables of the jobs in schema "${schema}" of the control database are missing or old: start one process with createSchema "on", as a role that may create them`,
    { cause: error },
  );
}

function nameOf(error: unknown): string {
  if (error instanceof ShardingError) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
