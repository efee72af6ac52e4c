import { createGuard, guardBody, guardFunction, triggerOf, TRUNCATE_FUNCTION } from './guard-function.js';
import { guardedTables } from './guarded-table.js';
import { quoted, quotedTable } from '../quoted.js';
import { withFenceLock } from './with-fence-lock.js';
import type { FencePatience } from './with-fence-lock.js';
import type { GuardedTable } from './guarded-table.js';
import type { KeyKind } from '../move-request.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/**
 * Puts the triggers of the fence on the tables, one table a transaction. Reads go on meanwhile; what is there already is not
 * touched, and takes no lock.
 *
 * @throws ShardingError `move_refused` for a table that others would not let go, or that cannot be guarded
 */
export async function installFence(
  session: MoveSession,
  tables: readonly MovedTable[],
  { keyKind, ...patience }: FencePatience & { readonly keyKind: KeyKind },
): Promise<void> {
  for (const table of await guardedTables(session, tables, keyKind)) {
    if (isComplete(await missingGuards(session, table))) continue;
    await withFenceLock(session, { ...patience, table, waitsFor: 'writers' }, () => install(session, table));
  }
}

/** Whether all triggers are there; to be asked under the lock of the fence. */
export async function isGuarded(session: MoveSession, tables: readonly GuardedTable[]): Promise<boolean> {
  for (const table of tables) if (!isComplete(await missingGuards(session, table))) return false;
  return true;
}

interface Missing {
  readonly rows: boolean;
  /** Parts of the table that can be truncated unseen. */
  readonly truncate: readonly Pick<MovedTable, 'schema' | 'name'>[];
}

const isComplete = ({ rows, truncate }: Missing) => !rows && truncate.length === 0;

const MISSING = `
  select not exists (
      select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where t.tgrelid = $1 and t.tgname = $2 and t.tgenabled = 'A' and t.tgqual is not null and p.pronamespace = $3::regnamespace and p.prosrc = $4) as rows,
    array(
      select json_build_object('schema', n.nspname, 'name', c.relname)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid = any ($5::oid[]) and not exists (
        select from pg_trigger t where t.tgrelid = c.oid and t.tgname = $6 and t.tgenabled = 'A')) as truncate`;

async function missingGuards({ client, schema }: MoveSession, table: GuardedTable): Promise<Missing> {
  const { rows } = await client.query<Missing>(MISSING, [
    table.oid,
    triggerOf(guardFunction(table)),
    quoted(schema),
    guardBody(schema, table),
    table.tree,
    triggerOf(TRUNCATE_FUNCTION),
  ]);
  return rows[0] ?? { rows: true, truncate: [] };
}

async function install(session: MoveSession, table: GuardedTable): Promise<void> {
  const { client, schema } = session;
  const missing = await missingGuards(session, table);
  const statements = missing.rows ? [...createGuard(schema, table), ...rowTrigger(schema, table)] : [];
  statements.push(...missing.truncate.flatMap((part) => truncateTrigger(schema, part)));
  for (const statement of statements) await client.query(statement);
}

/**
 * After the row is written: only then its key is final, whatever other triggers make of it. The transaction of a mover that has
 * claimed its side of a move was asked there for its epoch: its rows, millions perhaps, are not looked up one by one.
 */
function rowTrigger(schema: string, table: GuardedTable): string[] {
  const name = guardFunction(table);
  return [
    `create or replace trigger ${quoted(triggerOf(name))} after insert or update or delete on ${quotedTable(table)}
      for each row when (current_setting('nestjs_sharding.claimed', true) is distinct from 'yes') execute function ${quoted(schema)}.${quoted(name)}()`,
    always(table, triggerOf(name)),
  ];
}

function truncateTrigger(schema: string, part: Pick<MovedTable, 'schema' | 'name'>): string[] {
  const name = quoted(triggerOf(TRUNCATE_FUNCTION));
  return [
    `create or replace trigger ${name} before truncate on ${quotedTable(part)}
      for each statement execute function ${quoted(schema)}.${TRUNCATE_FUNCTION}()`,
    always(part, triggerOf(TRUNCATE_FUNCTION)),
  ];
}

/** Also for sessions that say that they are a replica, so that no write is lost. */
function always(table: Pick<MovedTable, 'schema' | 'name'>, trigger: string): string {
  return `alter table ${quotedTable(table)} enable always trigger ${quoted(trigger)}`;
}
