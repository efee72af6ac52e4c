import { described } from './database-failure.js';
import { transact, transactNested } from './transact.js';
import { levelOf } from './transaction.js';
import { connectedRunner } from './shard-runner.js';
import { Reader } from './reads/reader.js';
import { within } from './work-scope.js';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import type { Shard } from './shard.js';
import type { WorkLimits } from './work-scope.js';
import type { Transaction, TxOptions } from './transaction.js';

/**
 * The primary of one shard, as plain TypeORM. It routes and does not filter: several tenants share a shard, so every
 * statement needs its own tenant condition.
 *
 * No connection is held outside a statement or a {@link tx}. Inside `tx` every use of the same shard joins the
 * transaction, and the use of another shard is `cross_shard_transaction`.
 */
export class ShardDb {
  readonly shard: Shard;
  readonly #source: DataSource;
  readonly #level: Transaction | undefined;

  /** Obtained from `Shards`, `ShardedDb` or `tx`, not constructed. */
  constructor(shard: Shard, source: DataSource, level?: Transaction) {
    this.shard = shard;
    this.#source = source;
    this.#level = level;
  }

  /** TypeORM's entity manager: of the transaction inside `tx`, of the pool outside. */
  get manager(): EntityManager {
    const level = this.level();
    return level ? level.manager : this.#source.manager;
  }

  getRepository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.manager.getRepository(entity);
  }

  /**
   * Runs raw SQL and gives its rows. The connection's session state is reset afterwards, so that nothing that the
   * statement has set reaches another request.
   *
   * @param limits a deadline and a signal: the statement is then cancelled on the server
   * @throws ShardingError `deadline_exceeded`, `aborted`, `shard_unavailable`; what the server says of the statement
   */
  query<Rows = Record<string, unknown>[]>(
    sql: string,
    parameters?: unknown[],
    limits: WorkLimits = {},
  ): Promise<Rows> {
    const { manager } = this;
    return within(`the statement on ${described(this.shard.database.label)}`, limits, () =>
      manager.query<Rows>(sql, parameters),
    );
  }

  /**
   * The reads of this shard, from its replica while that is ready. Inside a `tx` they are part of it. Everything else
   * of a `ShardDb` uses the primary.
   */
  reader(): Reader {
    const level = this.#level;
    return new Reader({
      owner: this.shard,
      reads: this.shard.reads,
      mode: 'policy',
      ...(level && { level }),
    });
  }

  /**
   * Runs `work` in one transaction on this shard: committed when it returns, rolled back when it throws. Within
   * another `tx` on the same shard it is a savepoint.
   *
   * @throws ShardingError `cross_shard_transaction` inside a transaction of another shard; `deadline_exceeded` after
   *   `timeoutMs`; `commit_unknown` when the connection was lost during COMMIT
   */
  async tx<T>(work: (tx: ShardDb) => Promise<T>, options: TxOptions = {}): Promise<T> {
    const run = (level: Transaction) => work(new ShardDb(this.shard, this.#source, level));
    const parent = this.level();
    if (parent) return transactNested(parent, options, run);
    return transact(
      { shard: this.shard, database: this.shard.database, open: () => connectedRunner(this.#source) },
      options,
      run,
    );
  }

  private level(): Transaction | undefined {
    return levelOf(this.shard, this.shard.database.label, this.#level);
  }
}
