import { isTextOf, type KeyType } from '../preflight/judge/key-texts.js';
import { quoted, quotedTable } from '../quoted.js';
import { reading } from './reading.js';
import type { AuditedTable } from './audited-tables.js';
import type { MoveSession } from '../move-session.js';

/** Without an index each page reads the whole table: then there are fewer of them. */
const UNINDEXED_PAGE = 20_000;

/**
 * The next distinct keys of a table as text, in the order of its column. With an index one probe a key, however many rows it
 * has (https://wiki.postgresql.org/wiki/Loose_indexscan).
 */
export async function nextKeys(
  session: MoveSession,
  table: AuditedTable,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<{ readonly keys: string[]; readonly last: boolean }> {
  const size = table.indexed ? limit : Math.max(limit, UNINDEXED_PAGE);
  const text = table.indexed ? looseScan(table, after) : grouped(table, after);
  const values = after === null ? [size] : [size, after];
  const { rows } = await reading(session, () => session.client.query<{ key: string }>(text, values));
  return { keys: rows.map(({ key }) => key), last: rows.length < size };
}

function looseScan(table: AuditedTable, after: string | null): string {
  const key = quoted(table.key.name);
  const next = (condition: string) =>
    `select t.${key} from ${quotedTable(table)} t where ${condition} order by t.${key} limit 1`;
  return `
    with recursive page (key, place) as (
      select first.*, 1 from (${next(beginning(table, after))}) first
      union all
      select (${next(`t.${key} > page.key`)}), page.place + 1 from page where page.key is not null and page.place < $1)
    select page.key::text as key from page where page.key is not null order by page.place`;
}

function grouped(table: AuditedTable, after: string | null): string {
  const key = quoted(table.key.name);
  return `select t.${key}::text as key from ${quotedTable(table)} t where ${beginning(table, after)}
    group by t.${key} order by t.${key} limit $1`;
}

function beginning({ key }: AuditedTable, after: string | null): string {
  const column = `t.${quoted(key.name)}`;
  return after === null ? `${column} is not null` : `${column} > $2::text::${key.type}`;
}

/** How many rows a table has of each of the keys; keys without rows, and those that its column cannot have, are left out. */
export async function rowsOfKeys(
  session: MoveSession,
  table: AuditedTable,
  keys: readonly string[],
): Promise<Map<string, number>> {
  const key = quoted(table.key.name);
  const possible = keys.filter((text) => isTextOf(text, keyTypeOf(table)));
  const { rows } = await reading(session, () =>
    session.client.query<{ key: string; rows: number }>(
      `select ${key}::text as key, count(*)::float8 as rows from ${quotedTable(table)}
      where ${key} = any ($1::text[]::${table.key.type}[]) group by ${key}`,
      [possible],
    ),
  );
  return new Map(rows.map((row) => [row.key, row.rows]));
}

const CATALOG_NAMES: Readonly<Record<string, string>> = { smallint: 'int2', integer: 'int4', bigint: 'int8' };

function keyTypeOf({ key: { type } }: AuditedTable): KeyType {
  return { name: CATALOG_NAMES[type] ?? type, type };
}

export async function rowsWithoutKey(session: MoveSession, table: AuditedTable): Promise<number> {
  const { rows } = await reading(session, () =>
    session.client.query<{ rows: number }>(
      `select count(*)::float8 as rows from ${quotedTable(table)} where ${quoted(table.key.name)} is null`,
    ),
  );
  return rows[0]?.rows ?? 0;
}
