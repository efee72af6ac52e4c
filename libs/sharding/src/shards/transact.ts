import { ShardingError } from '@app/routing';
import { beginSql } from './begin.js';
import { answerLimit } from './connection-extra.js';
import { described, unavailable } from './database-failure.js';
import { outcomeUnknown } from './shard-runner.js';
import { active, asControl, Transaction } from './transaction.js';
import { within } from './work-scope.js';
import type { Database } from './database.js';
import type { PostgresRunner } from './shard-runner.js';
import type { TransactionPlace, TxOptions } from './transaction.js';

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
  const told = observed(place.database, attempt);
  const limits = { deadlineMs: options.timeoutMs, signal: options.signal };
  const what = `the transaction on ${described(place.database.label)}`;
  try {
    const value = await within(what, limits, () => attempt.run()).catch((error: unknown) =>
      attempt.failed(error),
    );
    told();
    return value;
  } catch (error) {
    told(error);
    throw error;
  } finally {
    await attempt.release();
  }
}

/** Tells the telemetry how a transaction ended. */
function observed(
  { telemetry, place }: Database,
  attempt: { readonly begunAt: number },
): (error?: unknown) => void {
  if (!telemetry.active) return () => undefined;
  const askedAt = performance.now();
  return (error) => {
    const startedAt = Math.max(askedAt, attempt.begunAt);
    const ms = performance.now() - startedAt;
    telemetry.transaction(place, { startedAt, ms, ...(error !== undefined && { error }) });
  };
}

/** Runs `work` in a savepoint of `parent`, whose other statements wait until it is done. */
export async function transactNested<T>(
  parent: Transaction,
  options: TxOptions,
  work: (level: Transaction) => Promise<T>,
): Promise<T> {
  const { isolation, readOnly, statementTimeoutMs } = options;
  if (isolation !== undefined || readOnly !== undefined || statementTimeoutMs !== undefined) {
    throw new ShardingError(
      'invalid_options',
      'isolation, readOnly and statementTimeoutMs belong to the outermost tx()',
    );
  }
  const { runner, place } = parent;
  const limits = { deadlineMs: options.timeoutMs, signal: options.signal };
  return parent.enqueue(async () => {
    const level = new Transaction(place, runner);
    level.readOnly = parent.readOnly;
    await asControl(() => runner.startTransaction());
    try {
      const working = within(`the savepoint on ${parent.described}`, limits, () => workIn(level, work));
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
  /** When it had its connection, on the clock of `performance.now()`; 0 before. */
  begunAt = 0;
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
    this.begunAt = performance.now();
    if (this.#over) {
      await runner.release(); // its time was up while it waited for a connection
      throw new ShardingError('aborted', 'the transaction was given up before it began');
    }
    const level = (this.#level = new Transaction(this.place, runner));
    level.readOnly = this.options.readOnly ?? false;
    serialise(runner, level);
    await asControl(() => begin(runner, this.options, this.place.database));
    level.assertOpen(); // its time may have been up while it began
    const done = await workIn(level, this.work);
    this.#value = { done };
    this.#committing = asControl(() => runner.commitTransaction());
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
      if (level.readOnly) throw unavailable(this.place.database.label, 'lost the connection', error);
      throw outcomeUnknown(`the commit on ${level.described}`, error);
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

async function begin(runner: PostgresRunner, options: TxOptions, database: Database): Promise<void> {
  const { readOnly = false, statementTimeoutMs: limitMs } = options;
  runner.readOnly = readOnly;
  if (limitMs !== undefined) await runner.answersWithin(answerLimit(limitMs));
  await runner.begin(beginSql(options, database));
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
const END_GRACE_MS = 3000;

function soon<T>(value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), END_GRACE_MS).unref());
}
