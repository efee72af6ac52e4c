import { GUARD_FUNCTION, TRUNCATE_FUNCTION } from './guard-function.js';
import { inTransaction } from '../move-session.js';
import { lockFence, withFenceLock } from './with-fence-lock.js';
import { quoted, quotedTable } from '../quoted.js';
import { refusesAnything, retireExpired } from './retire.js';
import { tableName } from '../tables/moved-table.js';
import type { FencePatience } from './with-fence-lock.js';
import type { MoveSession } from '../move-session.js';

/**
 * Takes the triggers off where the shard refuses nothing any more: no fence stands and no tombstone is there. One table a
 * transaction; whoever fences meanwhile is not left without triggers.
 *
 * @returns the tables that were freed
 * @throws ShardingError `move_refused` for a table that others would not let go
 */
export async function removeIdleFences(
  session: MoveSession,
  patience: FencePatience = {},
): Promise<string[]> {
  const idle = await inTransaction(session, '', async () => {
    await lockFence(session);
    await retireExpired(session);
    return !(await refusesAnything(session));
  });
  const freed: string[] = [];
  for (const table of idle ? await tablesWithGuards(session) : []) {
    const done = await withFenceLock(session, { ...patience, table, waitsFor: 'everybody' }, () =>
      free(session, table),
    );
    if (!done) return freed; // somebody fences again
    freed.push(tableName(table));
  }
  if (idle) await inTransaction(session, '', () => dropUnusedFunctions(session));
  return freed;
}

interface WithGuards {
  readonly schema: string;
  readonly name: string;
  readonly tree: readonly string[];
  readonly triggers: readonly string[];
}

/** Partitions have those of their parent. */
async function tablesWithGuards({ client, schema }: MoveSession): Promise<WithGuards[]> {
  const { rows } = await client.query<WithGuards>(
    `select n.nspname as schema, c.relname as name, array_agg(t.tgname::text) as triggers,
      array(select c.oid::text union select relid::oid::text from pg_partition_tree(c.oid)) as tree
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_class c on c.oid = t.tgrelid
      join pg_namespace n on n.oid = c.relnamespace
    where t.tgparentid = 0 and p.pronamespace = $1::regnamespace and (p.proname ~ $2 or p.proname = $3)
    group by c.oid, 1, 2 order by 1, 2`,
    [quoted(schema), GUARD_FUNCTION, TRUNCATE_FUNCTION],
  );
  return rows;
}

async function free(session: MoveSession, table: WithGuards): Promise<boolean> {
  if (await refusesAnything(session)) return false;
  for (const trigger of table.triggers) {
    await session.client.query(`drop trigger if exists ${quoted(trigger)} on ${quotedTable(table)}`);
  }
  return true;
}

async function dropUnusedFunctions(session: MoveSession): Promise<void> {
  const { client, schema } = session;
  await lockFence(session);
  const { rows } = await client.query<{ name: string }>(
    `select p.proname as name from pg_proc p
      where p.pronamespace = $1::regnamespace and p.proname ~ $2 and not exists (select from pg_trigger t where t.tgfoid = p.oid)`,
    [quoted(schema), GUARD_FUNCTION],
  );
  for (const { name } of rows) await client.query(`drop function ${quoted(schema)}.${quoted(name)}()`);
}
