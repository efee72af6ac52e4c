import { QueryFailedError } from 'typeorm';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { ShardingError } from '@app/routing';
import {
  described,
  failureCode,
  isConnectionFailure,
  isReadOnly,
  isReadTimeout,
  isServerError,
  ofDatabase,
  statementError,
  unavailable,
} from './database-failure.js';
import { beginSql } from './begin.js';
import { isPureRead } from './reads/pure-read.js';
import { reset } from './session-reset.js';
import { mayBeDone } from './statement-outcome.js';
import { refuseSessionUse, SESSION_STATEMENT } from './session-use.js';
import { currentScope } from './work-scope.js';
import type { DataSource, QueryRunner } from 'typeorm';
import type { Database } from './database.js';
import type { CausalMark } from './reads/causal-marks.js';
import type { Backend, WorkScope } from './work-scope.js';

/** What a runner is made from. */
export interface RunnerDriver {
  createQueryRunner(mode: 'master' | 'slave'): PostgresRunner;
}

/** What is used of a `pg` client. */
interface Client extends Backend {
  /** When it was taken from the pool, on the clock of `performance.now()`; noted while somebody watches. */
  readonly obtainedAt?: number;
  query(sql: string | object, values?: unknown[]): Promise<{ command: string }>;
  /** `I` idle, `T` in a transaction, `E` in an aborted one; null before the first answer. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null;
  readonly connectionParameters: { query_timeout?: number | false | undefined };
}

export interface PostgresRunner extends QueryRunner {
  connect(): Promise<Client>;
  releasePostgresConnection(error?: Error): Promise<void>;
  /** Set by who opened a READ ONLY transaction: a refused write is then the caller's own error. */
  readOnly: boolean;
  /** One statement by the extended protocol: the server refuses a second one behind a semicolon. */
  single(sql: string, parameters?: readonly unknown[]): Promise<never>;
  /** Begins a transaction by this SQL instead of TypeORM's. */
  begin(sql: string): Promise<void>;
  /** Bound of each statement on this side; the server's own is set in SQL. */
  answersWithin(limitMs: number): Promise<void>;
}

/** A runner that holds a connection: before it does, a release would leak the connection. */
export async function connectedRunner(source: DataSource): Promise<PostgresRunner> {
  const runner = source.createQueryRunner('master') as unknown as PostgresRunner;
  await runner.connect();
  return runner;
}

const ROLLBACK = /^rollback/i;

type RunnerClass = new (driver: RunnerDriver, mode: 'master' | 'slave') => PostgresRunner;

/** The parameters of statements for {@link PostgresRunner.single}. */
const SINGLES = new WeakSet<unknown[]>();

/** TypeORM's query runner with the rules of one {@link Database}. */
export class ShardRunner extends (PostgresQueryRunner as unknown as RunnerClass) {
  /** The session may have been changed: the connection is reset before anybody else gets it. */
  touched = false;
  override readOnly = false;
  readonly #database: Database;
  /** The session is nobody's own: it is not to be changed, and a reset would hit another one. */
  readonly #pooled: boolean;
  #begin = 'START TRANSACTION';
  /** Since the last begin; the COMMIT of a transaction that has only read makes nothing last. */
  #mayHaveWritten = false;
  #ownLimit: { readonly usual: number | false | undefined } | undefined;
  #resetting: Promise<void> | undefined;

  constructor(driver: RunnerDriver, mode: 'master' | 'slave', database: Database) {
    super(driver, mode);
    this.#database = database;
    this.#pooled = database.pooler === 'transaction';
    if (this.#pooled) this.#begin = beginSql({}, database); // TypeORM's own transactions have the limits too
  }

  override query(sql: string, ...rest: [unknown[]?, true?]): Promise<never> {
    if (this.#pooled) {
      const refusal = this.refusal(sql, rest[0]);
      if (refusal) return refusal;
    } else if (SESSION_STATEMENT.test(sql)) this.touched = true;
    const mark = this.readOnly ? undefined : this.markOf(sql);
    return mark || this.#database.telemetry.active
      ? this.observed({ sql, rest, mark })
      : this.scoped(sql, rest);
  }

  /** The mark to set for a statement that may write; for a COMMIT where its transaction may have written. */
  markOf(sql: string): CausalMark | undefined {
    const database = this.#database;
    if (!database.causalMark) return undefined;
    if (sql === 'START TRANSACTION') this.#mayHaveWritten = false;
    if (isPureRead(sql) || (sql === 'COMMIT' && !this.#mayHaveWritten)) return undefined;
    this.#mayHaveWritten = true;
    return database.causalMark();
  }

  override single(sql: string, parameters: readonly unknown[] = []): Promise<never> {
    const own = [...parameters];
    SINGLES.add(own);
    this.touchedBy(sql);
    return this.query(sql, own);
  }

  /** Raw SQL may change the session, also inside functions; what only reads by known ones does not. */
  touchedBy(sql: string): void {
    this.touched ||= !isPureRead(sql);
  }

  override async begin(sql: string): Promise<void> {
    this.#begin = sql;
    await this.startTransaction();
  }

  override async answersWithin(limitMs: number): Promise<void> {
    const { connectionParameters } = await this.connect();
    this.#ownLimit ??= { usual: connectionParameters.query_timeout };
    connectionParameters.query_timeout = limitMs;
  }

  override release(): Promise<void> {
    if (this.isReleased || this.#resetting) return this.#resetting ?? Promise.resolve();
    const { databaseConnection: client } = this as { databaseConnection?: Client };
    const status = client?.getTransactionStatus() ?? 'I';
    if (client && this.#ownLimit) client.connectionParameters.query_timeout = this.#ownLimit.usual;
    if (this.isTransactionActive || status !== 'I') {
      return this.releasePostgresConnection(
        new Error(`${described(this.#database.label)}: transaction left open`),
      );
    }
    if (!this.touched || this.#pooled) return super.release();
    this.#resetting = reset(this); // the caller need not wait; the pool gets the connection when it is clean
    return Promise.resolve();
  }

  /** One statement, told to whoever watches: the context's mark, and the telemetry. */
  async observed({ sql, rest, mark }: Observed): Promise<never> {
    const { telemetry, place } = this.#database;
    const askedAt = performance.now();
    let error: unknown;
    if (mark) await this.connect(); // what cannot be sent is no write
    mark?.wrote();
    try {
      return await this.scoped(sql, rest);
    } catch (cause) {
      error = cause;
      throw cause;
    } finally {
      mark?.wrote();
      const { databaseConnection: client } = this as { databaseConnection?: Client };
      const startedAt = Math.max(askedAt, client?.obtainedAt ?? 0); // the wait for it is told apart
      const ms = performance.now() - startedAt;
      if (telemetry.active)
        telemetry.statement(place, { sql, startedAt, ms, ...(error !== undefined && { error }) });
    }
  }

  scoped(given: string, rest: [unknown[]?, true?]): Promise<never> {
    const sql = given === 'START TRANSACTION' ? this.#begin : given;
    const scope = ROLLBACK.test(sql) ? undefined : currentScope();
    const send = () => this.sender(sql, rest).call(this, sql, ...rest);
    if (scope) return sendWithin(scope, { runner: this, database: this.#database, sql }, send);
    return send().then(this.#database.noteAnswer, (error: unknown) => this.failed(sql, error));
  }

  /** What sends a statement: TypeORM, but for those that it would send otherwise. */
  sender(sql: string, [parameters]: [unknown[]?, true?]): (...parts: unknown[]) => Promise<never> {
    if (sql === 'COMMIT') return this.commit as never;
    return (parameters && SINGLES.has(parameters) ? this.extended : super.query) as never;
  }

  /** TypeORM's own way, with the client's `query` exchanged for the time of the statement. */
  async extended(text: string, values: unknown[] = []): Promise<never> {
    const client = await this.connect();
    const { query } = client;
    client.query = () => query.call(client, { text, values, queryMode: 'extended' });
    try {
      return (await super.query(text, values)) as never;
    } finally {
      client.query = query;
    }
  }

  async commit(): Promise<unknown[]> {
    return commitOn(await this.connect(), this.#database.label, this.readOnly ? 'read' : 'write');
  }

  refusal(sql: string, parameters: unknown[] | undefined): Promise<never> | undefined {
    try {
      refuseSessionUse(this.#database.label, sql, parameters);
      return undefined;
    } catch (error) {
      return Promise.reject(error as ShardingError);
    }
  }

  /** A connection not to be used again. A pooler's server, which has no limit outside of transactions, is told to stop. */
  async thrownAway(stillRuns: boolean): Promise<void> {
    const { databaseConnection: client } = this as { databaseConnection?: Client };
    if (this.#pooled && stillRuns && client && !this.isTransactionActive) {
      await this.#database.cancel([client]).catch(() => undefined);
    }
    await this.releasePostgresConnection(new Error('not to be used again'));
  }

  /** @throws what the caller gets for a failed statement */
  failed(sql: string, error: unknown, reason?: ShardingError): never {
    const { breaker, label, place } = this.#database;
    const demoted = isReadOnly(error) && !this.readOnly && place.role === 'primary';
    if (isReadTimeout(error) || demoted) this.#resetting = this.thrownAway(isReadTimeout(error));
    if (isReadTimeout(error) || isConnectionFailure(error)) void breaker.look();
    else if (isServerError(error)) breaker.answered();
    if (demoted) throw unavailable(label, 'is read-only (25006): it is no primary any more', error);
    if (!this.isTransactionActive && !this.readOnly && mayBeDone(sql, error)) {
      throw outcomeUnknown(`a statement on ${described(label)}, outside of a transaction,`, error);
    }
    throw ofDatabase(label, refused(this.#database, error, reason));
  }
}

interface Observed {
  readonly sql: string;
  readonly rest: [unknown[]?, true?];
  readonly mark: CausalMark | undefined;
}

interface Sent {
  readonly runner: PostgresRunner & { failed(sql: string, error: unknown, reason?: ShardingError): never };
  readonly database: Database;
  readonly sql: string;
}

/** Sends one statement that the scope can cancel. */
async function sendWithin(
  scope: WorkScope,
  { runner, database, sql }: Sent,
  statement: () => Promise<never>,
): Promise<never> {
  scope.assertOpen();
  const backend = await runner.connect();
  scope.assertOpen();
  scope.enter(backend, database);
  try {
    return database.noteAnswer(await statement());
  } catch (error) {
    return runner.failed(sql, error, scope.reason);
  } finally {
    await scope.leave(backend);
  }
}

/** COMMIT of an aborted transaction is a silent ROLLBACK, which only its command tag tells. */
async function commitOn(client: Client, label: string, did: 'read' | 'write'): Promise<unknown[]> {
  const { command } = await client.query('COMMIT').catch((error: Error) => {
    if (did === 'write' && (isConnectionFailure(error) || isReadTimeout(error)))
      throw outcomeUnknown(`the commit on ${described(label)}`, error);
    throw new QueryFailedError('COMMIT', [], error);
  });
  if (command !== 'ROLLBACK') return [];
  throw new ShardingError(
    'transaction_aborted',
    `a statement failed inside the transaction on ${described(label)} and its error was swallowed: nothing was committed. Let the error pass, or run the statement in a nested tx()`,
  );
}

/** What was sent and not answered may have happened. */
export function outcomeUnknown(what: string, cause?: unknown): ShardingError {
  return new ShardingError(
    'commit_unknown',
    `${what} was sent and not answered: look before you repeat the work`,
    { cause },
  );
}

/** A cancelled statement is told as what cancelled it: the caller's limit, or the close of the database. */
function refused(database: Database, error: unknown, reason?: ShardingError): unknown {
  if (failureCode(error) !== '57014') return statementError(database.label, error);
  return reason ?? database.closedError ?? statementError(database.label, error);
}
