import { AsyncLocalStorage } from 'node:async_hooks';
import { ShardingError } from '@app/routing';
import { isConnectionFailure, isServerError } from './database-failure.js';
import { within } from './work-scope.js';
import type { EntityManager } from 'typeorm';
import type { PostgresRunner } from './instrument.js';

/** What `db.tx` accepts. `isolation` and `readOnly` belong to the outermost transaction. */
export interface TxOptions {
  readonly isolation?: 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
  readonly readOnly?: boolean;
  /** Bound of the whole transaction, `work` included. Default: none. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** `control` marks the library's own BEGIN, COMMIT and ROLLBACK. */
const active = new AsyncLocalStorage<Transaction | 'control'>();

const asControl = <T>(step: () => Promise<T>): Promise<T> => active.run('control', step);

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
  #tail: Promise<unknown> = Promise.resolve();
  #ended = false;
  #aborted = false;
  #nested: Transaction | undefined;
  #abandon: ((reason: ShardingError) => void) | undefined;

  constructor(
    readonly shardName: string,
    readonly runner: PostgresRunner,
  ) {}

  /** @throws ShardingError `transaction_closed` */
  get manager(): EntityManager {
    this.assertOpen();
    return this.runner.manager;
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

  /** Sends one statement of the user's; remembers that PostgreSQL aborts a transaction at its first error. */
  async send<T>(sql: string, send: () => Promise<T>): Promise<T> {
    return this.enqueue(async () => {
      try {
        const result = await send();
        if (/^rollback to/i.test(sql)) this.#aborted = false;
        return result;
      } catch (error) {
        if (isServerError(error) || isServerError((error as { cause?: unknown }).cause)) this.#aborted = true;
        throw error;
      }
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Refuses what comes later and waits for everything before, savepoints included. */
  async finish(): Promise<void> {
    this.#ended = true;
    await this.#tail;
  }

  /** The same for a rollback: savepoints whose work still runs are given up. */
  async giveUp(): Promise<void> {
    this.#abandon?.(this.closedError());
    await this.#nested?.giveUp();
    await this.finish();
  }

  /** Runs `work` of a savepoint until it is done or this level ends, whichever comes first. */
  async untilEnded<T>(nested: Transaction, work: () => Promise<T>): Promise<T> {
    const given = new Promise<never>((_resolve, reject) => (this.#abandon = reject));
    this.#nested = nested;
    try {
      return await Promise.race([work(), given]);
    } finally {
      this.#nested = undefined;
      this.#abandon = undefined;
    }
  }

  /** COMMIT of an aborted transaction is a silent ROLLBACK: say so instead. */
  assertCommittable(): void {
    if (!this.#aborted) return;
    throw new ShardingError(
      'transaction_aborted',
      `a statement failed inside the transaction on shard "${this.shardName}" and its error was swallowed: nothing was committed. Let the error pass, or run the statement in a nested tx()`,
    );
  }

  private assertOpen(): void {
    if (this.#ended) throw this.closedError();
  }

  private closedError(): ShardingError {
    return new ShardingError(
      'transaction_closed',
      `the transaction on shard "${this.shardName}" has ended: await every statement inside of it, or start the work outside`,
    );
  }
}

/**
 * Runs `work` in a transaction on a connection of its own: commits when it returns, rolls back when it throws.
 *
 * @param open gives a connected runner
 * @throws ShardingError `deadline_exceeded`, `aborted`, `transaction_aborted`, `commit_unknown`, `shard_unavailable`
 */
export async function transact<T>(
  on: { shardName: string; open: () => Promise<PostgresRunner> },
  options: TxOptions,
  work: (level: Transaction) => Promise<T>,
): Promise<T> {
  const runner = await on.open();
  const level = new Transaction(on.shardName, runner);
  serialise(runner, level);
  try {
    await asControl(() => begin(runner, options));
    const value = await workIn(level, options, work);
    await asControl(() => commit(level));
    return value;
  } catch (error) {
    await level.giveUp();
    await asControl(() => rollback(runner));
    throw error;
  } finally {
    await runner.release();
  }
}

/** Runs `work` in a savepoint of `parent`, whose other statements wait until it is done. */
export function transactNested<T>(
  parent: Transaction,
  options: TxOptions,
  work: (level: Transaction) => Promise<T>,
): Promise<T> {
  if (options.isolation !== undefined || options.readOnly !== undefined) {
    throw new ShardingError('invalid_options', 'isolation and readOnly belong to the outermost tx()');
  }
  const { runner } = parent;
  return parent.enqueue(async () => {
    const level = new Transaction(parent.shardName, runner);
    await asControl(() => runner.startTransaction());
    try {
      const value = await parent.untilEnded(level, () => workIn(level, options, work));
      await asControl(() => runner.commitTransaction());
      return value;
    } catch (error) {
      await level.giveUp();
      await asControl(() => rollback(runner));
      throw error;
    }
  });
}

async function workIn<T>(level: Transaction, options: TxOptions, work: (level: Transaction) => Promise<T>) {
  const limits = { deadlineMs: options.timeoutMs, signal: options.signal };
  const what = `the transaction on shard "${level.shardName}"`;
  const finished = async () => {
    const value = await work(level);
    await level.finish();
    return value;
  };
  const value = await within(what, limits, () => active.run(level, finished));
  level.assertCommittable();
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
    if (!isConnectionFailure(cause)) throw error;
    throw new ShardingError(
      'commit_unknown',
      `the connection to shard "${level.shardName}" was lost while committing: look before you repeat the work`,
      { cause },
    );
  }
}

/** A rollback that cannot be sent has happened: the server ends the transaction with its connection. */
async function rollback(runner: PostgresRunner): Promise<void> {
  try {
    await runner.rollbackTransaction();
  } catch (error) {
    await runner.releasePostgresConnection(error instanceof Error ? error : new Error('rollback failed'));
  }
}
