import { AsyncLocalStorage } from 'node:async_hooks';
import { ShardingError } from '@app/routing';
import { isConnectionFailure } from './database-failure.js';
import { within } from './work-scope.js';
import type { EntityManager } from 'typeorm';
import type { PostgresRunner } from './instrument.js';

/** What `db.tx` accepts. `isolation` and `readOnly` belong to the outermost transaction. */
export interface TxOptions {
  readonly isolation?: 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
  readonly readOnly?: boolean;
  /** Bound of the whole transaction: the wait for a connection, `work` and the commit. Default: none. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Where a transaction runs. */
export interface TransactionPlace {
  /** The object, not its name: another application of the process may have a shard of the same name. */
  readonly shard: { readonly name: string };
  /** Gives a connected runner. */
  readonly open: () => Promise<PostgresRunner>;
}

/** `control` marks the library's own BEGIN, COMMIT and ROLLBACK. */
const active = new AsyncLocalStorage<Transaction | 'control'>();

const asControl = <T>(step: () => Promise<T>): Promise<T> => active.run('control', step);

/** A user's statement that would begin or end the transaction behind the library's back. */
const TRANSACTION_CONTROL =
  /^(\s|\/\*.*?\*\/)*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+((work|transaction)\s+)?to\b))\b/is;

/** The transaction that the caller runs in, on whatever shard. */
export function activeTransaction(): Transaction | undefined {
  const level = active.getStore();
  return level === 'control' ? undefined : level;
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
  #tail: Promise<unknown> = Promise.resolve();
  #ended = false;
  #abandon: (reason: ShardingError) => void = () => undefined;

  constructor(
    readonly shard: TransactionPlace['shard'],
    readonly runner: PostgresRunner,
  ) {
    this.givenUp = new Promise<never>((_resolve, reject) => (this.#abandon = reject));
    this.givenUp.catch(() => undefined);
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

  /** Sends one statement of the user's. @throws ShardingError `invalid_options` for COMMIT and the like */
  async send<T>(sql: string, send: () => Promise<T>): Promise<T> {
    if (TRANSACTION_CONTROL.test(sql)) {
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
    throw new ShardingError(
      'shard_unavailable',
      `shard "${this.shard.name}" lost the connection of the transaction`,
    );
  }

  /** @throws ShardingError `transaction_closed` */
  assertOpen(): void {
    if (this.#ended) throw this.closedError();
  }

  private closedError(): ShardingError {
    return new ShardingError(
      'transaction_closed',
      `the transaction on shard "${this.shard.name}" has ended: await every statement inside of it, or start the work outside, with Shards.runFor`,
    );
  }
}

/**
 * Runs `work` in a transaction on a connection of its own: commits when it returns, rolls back when it throws.
 *
 * @throws ShardingError `deadline_exceeded`, `aborted`, `transaction_aborted`, `commit_unknown`, `shard_unavailable`
 */
export async function transact<T>(
  place: TransactionPlace,
  options: TxOptions,
  work: (level: Transaction) => Promise<T>,
): Promise<T> {
  const attempt = new Attempt(place, options, work);
  const limits = { deadlineMs: options.timeoutMs, signal: options.signal };
  try {
    return await within(`the transaction on shard "${place.shard.name}"`, limits, () => attempt.run());
  } catch (error) {
    return await attempt.failed(error); // before the release
  } finally {
    await attempt.release();
  }
}

/** Runs `work` in a savepoint of `parent`, whose other statements wait until it is done. */
export async function transactNested<T>(
  parent: Transaction,
  options: TxOptions,
  work: (level: Transaction) => Promise<T>,
): Promise<T> {
  if (options.isolation !== undefined || options.readOnly !== undefined) {
    throw new ShardingError('invalid_options', 'isolation and readOnly belong to the outermost tx()');
  }
  const { runner, shard } = parent;
  const limits = { deadlineMs: options.timeoutMs, signal: options.signal };
  return parent.enqueue(async () => {
    const level = new Transaction(shard, runner);
    await asControl(() => runner.startTransaction());
    try {
      const working = within(`the savepoint on shard "${shard.name}"`, limits, () => workIn(level, work));
      const value = await Promise.race([working, parent.givenUp]);
      await asControl(() => runner.commitTransaction());
      return value;
    } catch (error) {
      await rollback(level);
      throw error;
    }
  });
}

/** One transaction from the checkout to the release. */
class Attempt<T> {
  #level: Transaction | undefined;
  #over = false;
  #committing: Promise<void> | undefined;
  #value: { readonly done: T } | undefined;

  constructor(
    private readonly place: TransactionPlace,
    private readonly options: TxOptions,
    private readonly work: (level: Transaction) => Promise<T>,
  ) {}

  async run(): Promise<T> {
    const runner = await this.place.open();
    if (this.#over) {
      await runner.release(); // its time was up while it waited for a connection
      throw new ShardingError('aborted', 'the transaction was given up before it began');
    }
    const level = (this.#level = new Transaction(this.place.shard, runner));
    serialise(runner, level);
    await asControl(() => begin(runner, this.options));
    level.assertOpen(); // its time may have been up while it began
    const done = await workIn(level, this.work);
    this.#value = { done };
    this.#committing = asControl(() => commit(level));
    await this.#committing;
    return done;
  }

  /** Rolls back, unless the commit was under way: then only its answer tells what happened. */
  async failed(error: unknown): Promise<T> {
    this.#over = true;
    const level = this.#level;
    if (this.#committing && this.#value && level) {
      const answered = this.#committing.then(() => true as const);
      if (await Promise.race([answered, soon(false as const)])) return this.#value.done;
      await discard(level.runner, 'its commit was not answered');
      throw commitUnknown(level, error);
    }
    if (level) await rollback(level);
    throw error;
  }

  async release(): Promise<void> {
    this.#over = true;
    await this.#level?.runner.release();
  }
}

async function workIn<T>(level: Transaction, work: (level: Transaction) => Promise<T>): Promise<T> {
  const value = await active.run(level, async () => work(level));
  await level.finish();
  level.assertConnected();
  return value;
}

/** Sends the statements of `runner` through the transaction level that the caller is in. */
function serialise(runner: PostgresRunner, outermost: Transaction): void {
  const send = runner.query.bind(runner) as (...args: unknown[]) => Promise<never>;
  runner.query = async (sql: string, ...rest: unknown[]) => {
    const caller = active.getStore();
    if (caller === 'control') return send(sql, ...rest);
    const level = caller?.runner === runner ? caller : outermost;
    return level.send(sql, () => send(sql, ...rest));
  };
}

async function begin(runner: PostgresRunner, options: TxOptions): Promise<void> {
  await runner.startTransaction(options.isolation);
  if (options.readOnly) await runner.query('set transaction read only');
}

async function commit(level: Transaction): Promise<void> {
  try {
    await level.runner.commitTransaction();
  } catch (error) {
    const cause = error instanceof ShardingError ? error.cause : error;
    throw isConnectionFailure(cause) ? commitUnknown(level, cause) : error;
  }
}

function commitUnknown(level: Transaction, cause: unknown): ShardingError {
  return new ShardingError(
    'commit_unknown',
    `the commit on shard "${level.shard.name}" was sent and not answered: look before you repeat the work`,
    { cause },
  );
}

/** A rollback that is not answered soon has happened: the server ends the transaction with its connection. */
async function rollback(level: Transaction): Promise<void> {
  const { runner } = level;
  const rolledBack = level.giveUp().then(() => asControl(() => runner.rollbackTransaction()));
  try {
    if ((await Promise.race([rolledBack.then(() => true), soon(false)])) === true) return;
  } catch {
    // told by what caused the rollback
  }
  rolledBack.catch(() => undefined);
  await discard(runner, 'its rollback was not answered');
}

function discard(runner: PostgresRunner, reason: string): Promise<void> {
  return runner.releasePostgresConnection(new Error(reason));
}

/** How long a ROLLBACK, or a COMMIT after its deadline, may take; longer than a cancel. */
const ANSWER_GRACE_MS = 3000;

function soon<T>(value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ANSWER_GRACE_MS).unref());
}
