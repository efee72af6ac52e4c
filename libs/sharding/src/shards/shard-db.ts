import { ShardingError } from '@app/routing';
import { activeTransaction, transact, transactNested } from './transaction.js';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import type { PostgresRunner } from './instrument.js';
import type { Shard } from './shard.js';
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
   */
  query<Rows = Record<string, unknown>[]>(sql: string, parameters?: unknown[]): Promise<Rows> {
    return this.manager.query<Rows>(sql, parameters);
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
    return transact({ shard: this.shard, open: () => this.runner() }, options, run);
  }

  private level(): Transaction | undefined {
    const current = activeTransaction();
    current?.assertOpen();
    if (current && current.shard !== this.shard) {
      throw new ShardingError(
        'cross_shard_transaction',
        `shard "${this.shard.name}" cannot be used inside a transaction on shard "${current.shard.name}": a transaction spans exactly one shard`,
      );
    }
    const bound = this.#level;
    return current && (!bound || bound.runner === current.runner) ? current : bound;
  }

  private async runner(): Promise<PostgresRunner> {
    const runner = this.#source.createQueryRunner('master') as unknown as PostgresRunner;
    await runner.connect(); // before anything may release it: a release in between would leak the connection
    return runner;
  }
}
