import { assertRoutingKey, ShardingError } from '@app/routing';
import { rowsOf } from '@app/sharding';
import { jobData, routingKeyOf, singletonKeyOf } from './job-data.js';
import { retryProblems } from './job-handlers.js';
import { deadNameOf } from './job-queue.js';
import type { RoutingKey } from '@app/routing';
import type { RunStatement } from '@app/sharding';
import type { DataSource, EntityManager } from 'typeorm';
import type { JobData } from './job-data.js';
import type { JobHandler, JobHandlers } from './job-handlers.js';
import type { JobQueue, NewJob } from './job-queue.js';
import type { RetryOptions } from './job.decorator.js';

export interface SendOptions {
  /** The tenant, or whatever the job is routed by: its handler runs inside of `shards.runFor(routingKey)`. */
  readonly routingKey?: RoutingKey;
  /** A moment, or seconds from now by the control database's clock, 0 to 31536000. */
  readonly startAfter?: Date | number;
  /** In place of the handler's. */
  readonly retry?: RetryOptions;
  /** While a job of this name, routing key and singleton key waits, another one is not taken. Up to 200 characters. */
  readonly singletonKey?: string;
}

/** A job that has failed in every attempt. */
export interface DeadLetter {
  readonly id: string;
  readonly payload: unknown;
  readonly routingKey: RoutingKey | undefined;
  /** Code or class of the last error. */
  readonly failure: string | undefined;
  readonly diedAt: Date;
}

interface JobsParts {
  readonly queue: JobQueue;
  readonly handlers: JobHandlers;
  readonly control: DataSource;
  readonly wake: (name: string) => void;
}

const YEAR_S = 31_536_000;
const DEAD_LIMIT = 100;

/** Sends jobs. A singleton; any process can send, whether it runs jobs or not. */
export class Jobs {
  readonly #parts: JobsParts;

  /** Provided by `JobsModule`, not constructed. */
  constructor(parts: JobsParts) {
    this.#parts = parts;
  }

  /**
   * Puts a job into the queue of its name, and commits that at once.
   *
   * @param payload JSON of up to 256 KiB
   * @returns the id; undefined where the same job is waiting already, by its `singletonKey`
   * @throws ShardingError `no_routing_key` where the handler needs one; `invalid_options`; `shard_unavailable` while the
   *   control database is down; `commit_unknown` where its answer was lost; `cross_shard_transaction` inside of a `db.tx`,
   *   which it would not be part of: send after it, or emit an event
   */
  async send(name: string, payload: unknown, options: SendOptions = {}): Promise<string | undefined> {
    const id = await this.#parts.queue.send(this.#newJob(name, payload, options));
    this.#parts.wake(name);
    return id;
  }

  /**
   * The same as a part of a transaction on the control database: there is a job when that commits, and none when it does not.
   *
   * @param tx the manager that `dataSource.transaction()` of the control database gives
   * @throws ShardingError `invalid_options` for a manager that is no transaction on the control database
   */
  async sendInTx(
    tx: EntityManager,
    name: string,
    ...[payload, options = {}]: [payload: unknown, options?: SendOptions]
  ): Promise<string | undefined> {
    const { queryRunner } = tx;
    if (tx.connection !== this.#parts.control || !queryRunner?.isTransactionActive) {
      throw new ShardingError(
        'invalid_options',
        'sendInTx() takes the manager of a transaction on the control database: control.transaction((tx) => jobs.sendInTx(tx, ...))',
      );
    }
    const run: RunStatement = (sql, parameters) => rowsOf(queryRunner, sql, parameters);
    return this.#parts.queue.send(this.#newJob(name, payload, options), run);
  }

  /** Jobs of a name that have failed in every attempt, the oldest first, 100 at most. */
  async deadLetters(name: string): Promise<DeadLetter[]> {
    const rows = await this.#parts.queue.query<DeadRow>(
      (schema) => `select id, data, output->>'failure' as failure, created_on as "diedAt"
        from ${schema}.job where name = $1 and state = 'created' order by created_on, id limit ${DEAD_LIMIT}`,
      [deadNameOf(this.#handler(name).name)],
    );
    return rows.map(({ id, data, failure, diedAt }) => {
      return {
        id,
        payload: data.payload,
        routingKey: routingKeyOf(data),
        failure: failure ?? undefined,
        diedAt,
      };
    });
  }

  /**
   * Makes a dead letter a job again, with all attempts.
   *
   * @returns the id of the job; undefined where there is no such dead letter
   */
  async requeue(name: string, id: string): Promise<string | undefined> {
    const { retry, leaseSeconds } = this.#handler(name);
    const { queue, wake } = this.#parts;
    const sent = await queue.tx(async (run, schema) => {
      const sql = `delete from ${schema}.job where name = $1 and id::text = $2 and state = 'created' returning data`;
      const [dead] = await run<{ data: JobData }>(sql, [deadNameOf(name), id]);
      return dead && queue.send({ name, data: dead.data, retry, leaseSeconds }, run);
    });
    wake(name);
    return sent;
  }

  #newJob(name: string, payload: unknown, options: SendOptions): NewJob {
    const handler = this.#handler(name);
    const { routingKey, startAfter, singletonKey } = options;
    if (routingKey !== undefined) assertRoutingKey(routingKey);
    assertKeyUse(handler, routingKey);
    const problems = sendProblems(options);
    if (problems.length > 0) throw new ShardingError('invalid_options', problems.join('; '));
    const data = jobData(payload, routingKey);
    return {
      name,
      data,
      retry: { ...handler.retry, ...options.retry },
      leaseSeconds: handler.leaseSeconds,
      ...(startAfter !== undefined && { startAfter }),
      ...(singletonKey !== undefined && { singletonKey: singletonKeyOf(singletonKey, data) }),
    };
  }

  #handler(name: string): JobHandler {
    const handler = this.#parts.handlers.byName.get(name);
    if (handler) return handler;
    const known = [...this.#parts.handlers.byName.keys()].join(', ') || 'none';
    throw new ShardingError('invalid_options', `no handler has the name "${name}"; known jobs: ${known}`);
  }
}

interface DeadRow {
  readonly id: string;
  readonly data: JobData;
  readonly failure: string | null;
  readonly diedAt: Date;
}

function assertKeyUse({ name, routingKey: use }: JobHandler, key: RoutingKey | undefined): void {
  if (use === 'required' && key === undefined) {
    throw new ShardingError(
      'no_routing_key',
      `job "${name}" needs a routing key: send(name, payload, { routingKey })`,
    );
  }
  if (use === 'none' && key !== undefined) {
    throw new ShardingError('invalid_options', `job "${name}" takes no routing key`);
  }
}

function sendProblems({ startAfter = 0, singletonKey = 'x', retry = {} }: SendOptions): string[] {
  const time = startAfter instanceof Date ? startAfter.getTime() : startAfter;
  const inRange = startAfter instanceof Date ? !Number.isNaN(time) : time >= 0 && time <= YEAR_S;
  return [
    ...(inRange ? [] : [`startAfter is a Date, or seconds from 0 to ${YEAR_S}`]),
    ...(singletonKey.length > 0 && singletonKey.length <= 200
      ? []
      : ['singletonKey has 1 to 200 characters']),
    ...retryProblems(retry),
  ];
}
