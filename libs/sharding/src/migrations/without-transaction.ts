import { withLockRetries, type LockPatience } from './lock-retries.js';
import type { QueryRunner } from 'typeorm';

type Query = (sql: string, ...rest: unknown[]) => Promise<never>;

/** What takes no lock that others would notice, and may wait as long as it has to. */
const CONCURRENTLY = /^\s*(?:create|drop|reindex|alter|refresh)\b[^;]*\bconcurrently\b/i;

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
    if (!CONCURRENTLY.test(sql)) return withLockRetries(patience, () => query(sql, ...rest));
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

const INDEX =
  /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?("(?:[^"]|"")+"|[\w$]+)\s+on\b/i;

/** Whether what a failed build has left is in the way: `if not exists` would believe that it is the index. */
async function dropInvalid(query: Query, sql: string, { note }: LockPatience): Promise<void> {
  const written = INDEX.exec(sql)?.[1];
  if (written === undefined) return;
  const rows = (await query(
    `select format('%I.%I', n.nspname, c.relname) as name
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
      where not i.indisvalid and c.relkind = 'i' and c.relname = (parse_ident($1))[1] and pg_table_is_visible(c.oid)
        and not exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)`,
    [written],
  )) as { name: string }[];
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
