import { forgetCatalog } from './catalog.js';
import { loadRows, planRows, runPlan } from './rows.js';
import { readShard, readTransaction } from './shard-read.js';
import type { DataSource, ObjectLiteral, QueryRunner } from 'typeorm';
import type { Shard } from '../../shards/shard.js';
import type { RowsPlan, RowsRequest } from './rows.js';
import type { ScatterReads, ShardRead } from './shard-read.js';
import type { Keyed, SortKey } from './sort-key.js';

/** How one shard of a stream is read. */
export interface CursorParts<E extends ObjectLiteral> {
  readonly shard: Shard;
  readonly index: number;
  readonly reads: ScatterReads;
  readonly request: RowsRequest<E>;
  readonly batchSize: number;
  readonly deadlineMs: number | undefined;
  /** Ends the cursor at once, also while it waits for the server. */
  readonly signal: AbortSignal;
}

/** What the catalog and the order have told once the cursor is open. */
export interface OpenCursor {
  readonly source: DataSource;
  readonly keys: readonly SortKey[];
}

interface Demand<E> {
  resolve(rows: readonly Keyed<E>[]): void;
  reject(error: unknown): void;
}

/**
 * The ordered rows of one shard through a server-side cursor in a READ ONLY transaction on one snapshot. It holds one
 * connection from {@link open} to its end or {@link close}, and a batch of rows only while somebody asks for it.
 */
export class ShardCursor<E extends ObjectLiteral> {
  readonly #parts: CursorParts<E>;
  #demand: Demand<E> | undefined;
  #wake: () => void = () => undefined;
  #closing = false;
  #served = false;
  #broken: unknown;
  #failure: { readonly error: unknown } | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: CursorParts<E>) {
    this.#parts = parts;
  }

  /** Opens the cursor; rejects when the shard cannot serve it. */
  open(): Promise<OpenCursor> {
    return new Promise((resolve, reject) => {
      this.#running = this.#run(resolve).catch((error: unknown) => {
        this.#failure = { error };
        reject(error);
        this.#demand?.reject(error);
      });
    });
  }

  /** The next rows; none at the end. */
  next(): Promise<readonly Keyed<E>[]> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      this.#demand = { resolve, reject };
      this.#wake();
    });
  }

  /** Ends the transaction and gives the connection back; also before the end of the rows. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake();
    await this.#running;
  }

  #run(opened: (open: OpenCursor) => void): Promise<void> {
    const { shard, index, reads, deadlineMs, signal } = this.#parts;
    const options = {
      isolation: 'REPEATABLE READ',
      signal,
      ...(deadlineMs !== undefined && { timeoutMs: deadlineMs }),
    } as const;
    return readShard(shard, { index, reads }, async (read) => {
      if (this.#served) throw this.#broken; // a stream that has begun begins nowhere else
      const plan = await freshPlan(read, this.#parts.request);
      await readTransaction(read, options, async ({ runner }) => {
        const sql = await declare(runner, plan);
        opened({ source: read.source, keys: plan.keys });
        const fetch = `fetch forward ${this.#parts.batchSize} from ${CURSOR}`;
        plan.query.setQueryRunner(fetchingRunner(runner, sql, fetch));
        await this.#serve({ ...read, manager: runner.manager }, plan);
      }).catch((error: unknown) => {
        this.#broken = error;
        throw error;
      });
    });
  }

  async #serve(read: ShardRead, plan: RowsPlan<E>): Promise<void> {
    const { request } = this.#parts;
    while (!this.#closing) {
      const demand = this.#demand;
      if (!demand) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const keyed = await runPlan(read, plan, request);
      const rows = plan.load === 'joined' ? keyed : await loaded(read, plan, { request, rows: keyed });
      this.#served = true;
      this.#demand = undefined;
      demand.resolve(rows as readonly Keyed<E>[]);
      if (keyed.length === 0) return;
    }
  }
}

/** On the snapshot of the keys, so every row is there. */
async function loaded<E extends ObjectLiteral>(
  read: ShardRead,
  plan: RowsPlan<E>,
  of: { readonly request: RowsRequest<E>; readonly rows: readonly Keyed<E | undefined>[] },
): Promise<Keyed<E | undefined>[]> {
  const entities = await loadRows(read, plan, of);
  return of.rows.map((row, index) => ({ ...row, row: entities[index] }));
}

/** An order by an enum with the labels of now: a label cannot be looked up once rows are under way. */
async function freshPlan<E extends ObjectLiteral>(
  read: ShardRead,
  request: RowsRequest<E>,
): Promise<RowsPlan<E>> {
  const plan = await planRows(read, request);
  if (!plan.keys.some(({ type }) => type.kind === 'enum')) return plan;
  forgetCatalog(read.source);
  return planRows(read, request);
}

/** Gives the SQL that the cursor is for. */
async function declare<E extends ObjectLiteral>(
  runner: QueryRunner,
  { query }: RowsPlan<E>,
): Promise<string> {
  query.expressionMap.queryEntity = true; // as getRawAndEntities() does, so that its SQL is this one
  const [sql, parameters] = query.getQueryAndParameters();
  await runner.query(UNLIMITED_IDLE);
  await runner.query(`declare ${CURSOR} no scroll cursor for ${sql}`, parameters);
  return sql;
}

const CURSOR = 'scatter_rows';

/** The rows of other shards may be consumed for long; the stream itself watches a consumer that has gone. */
const UNLIMITED_IDLE = `select set_config('idle_in_transaction_session_timeout', '0', true)`;

/** A runner that answers one statement with the next rows of the cursor that was declared for it. */
function fetchingRunner(runner: QueryRunner, declared: string, fetch: string): QueryRunner {
  const query = (sql: string, parameters?: unknown[], structured?: true) =>
    sql === declared
      ? runner.query(fetch, [], structured as true)
      : runner.query(sql, parameters, structured as true);
  return Object.create(runner, { query: { value: query } }) as QueryRunner;
}
