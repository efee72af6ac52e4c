import { concurrentIndex, isConcurrent } from './concurrent-statement.js';
import { withLockRetries, type LockPatience } from './lock-retries.js';
import type { QueryRunner } from 'typeorm';

type Query = (sql: string, ...rest: unknown[]) => Promise<never>;

/**
 * Runs a migration whose statements each stand alone: it is the statement that is tried again when it meets a lock. An
 * index that an earlier build has left invalid is dropped before one of its name is built.
 */
export async function withoutTransaction(
  runner: QueryRunner,
  patience: LockPatience,
  run: () => Promise<void>,
): Promise<void> {
  const query = runner.query.bind(runner) as Query;
  const lent = runner as unknown as { query: Query };
  await setLockTimeout({ query }, patience.lockTimeoutMs);
  lent.query = async (sql, ...rest) => {
    if (runner.isTransactionActive) return query(sql, ...rest);
    if (!isConcurrent(sql)) return withLockRetries(patience, () => query(sql, ...rest));
    return concurrently(query, patience, async () => {
      await dropInvalid(query, sql, patience);
      return query(sql, ...rest);
    });
  };
  try {
    await run();
  } finally {
    Reflect.deleteProperty(lent, 'query');
  }
}

async function concurrently<T>(query: Query, patience: LockPatience, work: () => Promise<T>): Promise<T> {
  await setLockTimeout({ query }, 0);
  try {
    return await work();
  } finally {
    await setLockTimeout({ query }, patience.lockTimeoutMs).catch(() => undefined); // the statement's error says more
  }
}

/** A leftover of that very build: the index of a table is in the schema of the table. */
const INVALID = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
  where not i.indisvalid and c.relkind = 'i' and c.relname = (parse_ident($1))[1]::name and i.indrelid = to_regclass($2)
    and not exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)`;

/** Whether what a failed build has left is in the way: `if not exists` would believe that it is the index. */
async function dropInvalid(query: Query, sql: string, { note }: LockPatience): Promise<void> {
  const index = concurrentIndex(sql);
  if (!index) return;
  const rows = (await query(INVALID, [index.name, index.table])) as { name: string }[];
  for (const { name } of rows) {
    await query(`drop index concurrently ${name}`);
    note(`dropped the invalid index ${name}, which an earlier build has left`);
  }
}

interface Queries {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

/** Until the end of the transaction, where there is one. */
export async function setLockTimeout(
  runner: Queries & { isTransactionActive?: boolean },
  ms: number,
): Promise<void> {
  const local = runner.isTransactionActive === true;
  await runner.query(`select set_config('lock_timeout', $1, $2)`, [`${ms}ms`, local]);
}
