import { ShardingError } from '@app/routing';
import { transact, transactNested } from '../transact.js';
import { promised } from '../maybe-promise.js';
import { connectedRunner } from '../shard-runner.js';
import { firstWords } from '../sql-text.js';
import { levelOf } from '../transaction.js';
import { within } from '../work-scope.js';
import { ReadRepository } from './read-repository.js';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import type { Database } from '../database.js';
import type { Transaction, TxOptions } from '../transaction.js';
import type { WorkLimits } from '../work-scope.js';
import type { ReadMode, Reads } from './reads.js';

/** What `reader.tx` accepts. */
export type ReadTxOptions = Omit<TxOptions, 'readOnly'>;

/** What would end the READ ONLY transaction that a statement runs in, or the savepoint that makes it one. */
const CONTROL = new Set('begin start commit end abort rollback savepoint release prepare'.split(' '));

interface ReaderParts {
  /** The shard, whose transactions the reads join; absent for the control database, which is apart from them. */
  readonly owner?: object;
  readonly reads: Reads;
  readonly mode: ReadMode;
  readonly level?: Transaction;
}

let readThrough: <T>(reader: Reader, read: (manager: EntityManager) => Promise<T>) => Promise<T>;

/** Runs one read on the entity manager that serves it; for repositories, which let nobody write through it. */
export function readOn<T>(reader: Reader, read: (manager: EntityManager) => Promise<T>): Promise<T> {
  return readThrough(reader, read);
}

/**
 * Reads of one shard, or of the control database: from the replica while it is ready and has replayed what the running
 * context has written, else as `replica_fallback` says. Each call decides anew, so a reader may be kept.
 *
 * It has no methods that write, and raw SQL runs in READ ONLY transactions, on the primary too. Inside a `tx` of the same
 * shard it reads what that transaction sees.
 */
export class Reader {
  static {
    readThrough = (reader, read) => reader.#read(read);
  }

  readonly #parts: ReaderParts;

  /** Obtained from `Shards`, `ShardDb` or `@InjectControl('reader')`, not constructed. */
  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /** @throws ShardingError `replica_unavailable` when a read could not be served now */
  assertAvailable(): void {
    this.#parts.reads.assertAvailable(this.#parts.mode);
  }

  getRepository<E extends ObjectLiteral>(entity: EntityTarget<E>): ReadRepository<E> {
    return new ReadRepository<E>(entity, (read) =>
      this.#read((manager) => read(manager.getRepository(entity))),
    );
  }

  /**
   * One raw SQL statement in a READ ONLY transaction; gives its rows.
   *
   * @throws the server's error for a second statement, and for one that writes; ShardingError `invalid_options` for
   *   COMMIT and the like
   */
  query<Rows = Record<string, unknown>[]>(
    sql: string,
    parameters: readonly unknown[] = [],
    limits: WorkLimits = {},
  ): Promise<Rows> {
    return within('the read', limits, () => this.#query<Rows>(sql, parameters));
  }

  /**
   * Runs `work` in one READ ONLY transaction, on one database: with `isolation: 'REPEATABLE READ'` on one snapshot.
   * Inside a `tx` of the same shard it is a savepoint.
   *
   * @throws ShardingError as `ShardDb.tx` does
   */
  async tx<T>(work: (reader: Reader) => Promise<T>, options: ReadTxOptions = {}): Promise<T> {
    const run = (level: Transaction) => work(new Reader({ ...this.#parts, level }));
    return this.#transact(options, run);
  }

  #query<Rows>(sql: string, parameters: readonly unknown[]): Promise<Rows> {
    refuseControl(sql);
    const level = this.#level();
    if (level?.readOnly) return level.single<Rows>(sql, parameters);
    const single = (own: Transaction) => own.single<Rows>(sql, parameters);
    if (level) return this.#transact({}, single);
    const { mode, reads } = this.#parts;
    return reads.run(mode, (source, database) =>
      isReadOnlyByItself(database)
        ? singleOn<Rows>(source, sql, parameters)
        : this.#transactOn({ source, database, options: {} }, single),
    );
  }

  #transact<T>(options: ReadTxOptions, work: (level: Transaction) => Promise<T>): Promise<T> {
    const parent = this.#level();
    if (parent) {
      return transactNested(parent, options, (level) => refusingWrites(level, work));
    }
    const { mode, reads } = this.#parts;
    return reads.run(mode, (source, database) => this.#transactOn({ source, database, options }, work));
  }

  #transactOn<T>(
    { source, database, options }: { source: DataSource; database: Database; options: ReadTxOptions },
    work: (level: Transaction) => Promise<T>,
  ): Promise<T> {
    const { owner, reads } = this.#parts;
    const place = { shard: owner ?? reads, database, open: () => connectedRunner(source) };
    return transact(place, { ...options, readOnly: true }, work);
  }

  #read<T>(read: (manager: EntityManager) => Promise<T>): Promise<T> {
    return promised(() => {
      const level = this.#level();
      if (level) return read(level.manager);
      const { reads, mode } = this.#parts;
      return reads.run(mode, ({ manager }) => read(manager));
    });
  }

  /** The transaction that the call belongs to. */
  #level(): Transaction | undefined {
    const { owner, reads, level } = this.#parts;
    return owner ? levelOf(owner, reads.primary.label, level) : level;
  }
}

/** Sessions of a replica begin READ ONLY transactions only, and would when it is promoted, unless a pooler owns them. */
function isReadOnlyByItself({ place, pooler }: Database): boolean {
  return place.role === 'replica' && pooler === 'none';
}

/** One statement in a transaction of its own, which is READ ONLY by the session's default. */
async function singleOn<Rows>(
  source: DataSource,
  sql: string,
  parameters: readonly unknown[],
): Promise<Rows> {
  const runner = await connectedRunner(source);
  runner.readOnly = true;
  try {
    return await runner.single(sql, parameters);
  } finally {
    await runner.release();
  }
}

function refuseControl(sql: string): void {
  if (!firstWords(sql).some((word) => CONTROL.has(word))) return;
  throw new ShardingError(
    'invalid_options',
    'a reader begins and ends its transactions itself: use reader.tx()',
  );
}

/** A write that is refused in here is the caller's own error. */
async function refusingWrites<T>(level: Transaction, work: (level: Transaction) => Promise<T>): Promise<T> {
  const { runner } = level;
  const usual = runner.readOnly;
  runner.readOnly = true;
  try {
    await level.refuseWrites();
    return await work(level);
  } finally {
    runner.readOnly = usual;
  }
}
