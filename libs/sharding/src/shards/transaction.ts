import { AsyncLocalStorage } from 'node:async_hooks';
import { ShardingError } from '@app/routing';
import { described, unavailable } from './database-failure.js';
import { controlsTransaction } from './sql-text.js';
import type { EntityManager } from 'typeorm';
import type { BeginOptions } from './begin.js';
import type { Database } from './database.js';
import type { PostgresRunner } from './shard-runner.js';

/** What `db.tx` accepts. `isolation`, `readOnly` and `statementTimeoutMs` belong to the outermost transaction. */
export interface TxOptions extends BeginOptions {
  /** Bound of the whole transaction: the wait for a connection, `work` and the commit. Default: none. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Where a transaction runs. */
export interface TransactionPlace {
  /** The object, not its name: another application of the process may have a shard of the same name. */
  readonly shard: object;
  readonly database: Database;
  /** Gives a connected runner. */
  readonly open: () => Promise<PostgresRunner>;
}

/** `control` marks the library's own BEGIN, COMMIT and ROLLBACK. */
export const active = new AsyncLocalStorage<Transaction | 'control'>();

export const asControl = <T>(step: () => Promise<T>): Promise<T> => active.run('control', step);

/** The transaction that the caller runs in, on whatever shard. */
export function activeTransaction(): Transaction | undefined {
  const level = active.getStore();
  return level === 'control' ? undefined : level;
}

/** Whether the caller runs inside a `tx()` that has not ended, on whatever shard. */
export function insideTransaction(): boolean {
  return activeTransaction()?.ended === false;
}

/**
 * The transaction that a use of `owner` belongs to: of the caller, or the one that the used object is bound to.
 *
 * @throws ShardingError `transaction_closed`; `cross_shard_transaction` inside a transaction of another shard
 */
export function levelOf(
  owner: object,
  label: string,
  bound: Transaction | undefined,
): Transaction | undefined {
  const current = activeTransaction();
  current?.assertOpen();
  if (current && current.shard !== owner) {
    throw new ShardingError(
      'cross_shard_transaction',
      `${described(label)} cannot be used inside a transaction on ${current.described}: a transaction spans exactly one shard`,
    );
  }
  return current && (!bound || bound.runner === current.runner) ? current : bound;
}

/** Runs `work` as a unit of its own when the transaction that it was started in has ended meanwhile. */
export function apartFromEnded<T>(work: () => T): T {
  return activeTransaction()?.ended ? active.exit(work) : work();
}

/**
 * One transaction, or one savepoint of it, on one shard. Its statements run one after the other, also under
 * `Promise.all`; once it has ended, statements that come late are refused instead of running outside of it.
 */
export class Transaction {
  /** Rejects when the level is given up: savepoints below it need not be waited for. */
  readonly givenUp: Promise<never>;
  /** The server refuses every write of it. */
  readOnly = false;
  #tail: Promise<unknown> = Promise.resolve();
  #ended = false;
  #abandon: (reason: ShardingError) => void = () => undefined;

  constructor(
    readonly place: Pick<TransactionPlace, 'shard' | 'database'>,
    readonly runner: PostgresRunner,
  ) {
    this.givenUp = new Promise<never>((_resolve, reject) => (this.#abandon = reject));
    this.givenUp.catch(() => undefined);
  }

  get shard(): object {
    return this.place.shard;
  }

  /** `shard "x"`, for messages. */
  get described(): string {
    return described(this.place.database.label);
  }

  /** @throws ShardingError `transaction_closed` */
  get manager(): EntityManager {
    this.assertOpen();
    return this.runner.manager;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Runs `step` after all earlier ones. @throws ShardingError `transaction_closed` */
  async enqueue<T>(step: () => Promise<T>): Promise<T> {
    this.assertOpen();
    const result = this.#tail.then(() => {
      this.assertOpen();
      return step();
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** One statement and no second one. @throws the server's error */
  single<Rows>(sql: string, parameters: readonly unknown[]): Promise<Rows> {
    this.assertOpen();
    return this.runner.single(sql, parameters);
  }

  /** Lets a savepoint write nothing; the server ends that with the savepoint. */
  async refuseWrites(): Promise<void> {
    await asControl(() => this.runner.query('set transaction read only'));
    this.readOnly = true;
  }

  /** Sends one statement of the user's. @throws ShardingError `invalid_options` for COMMIT and the like */
  async send<T>(sql: string, send: () => Promise<T>): Promise<T> {
    if (controlsTransaction(sql)) {
      throw new ShardingError(
        'invalid_options',
        'tx() begins and ends its transaction itself: no BEGIN, COMMIT, ROLLBACK',
      );
    }
    return this.enqueue(send);
  }

  /** Refuses what comes later and waits for everything before, savepoints included. */
  async finish(): Promise<void> {
    this.#ended = true;
    await this.#tail;
  }

  /** The same for a rollback: savepoints whose work still runs are given up, whatever they wait for. */
  async giveUp(): Promise<void> {
    this.#abandon(this.closedError());
    await this.finish();
  }

  /** @throws ShardingError `shard_unavailable` when the connection was lost before a commit could be sent */
  assertConnected(): void {
    if (!this.runner.isReleased) return;
    throw unavailable(this.place.database.label, 'lost the connection of the transaction');
  }

  /** @throws ShardingError `transaction_closed` */
  assertOpen(): void {
    if (this.#ended) throw this.closedError();
  }

  private closedError(): ShardingError {
    return new ShardingError(
      'transaction_closed',
      `the transaction on ${this.described} has ended: await every statement inside of it, or start the work outside, with Shards.runFor`,
    );
  }
}
