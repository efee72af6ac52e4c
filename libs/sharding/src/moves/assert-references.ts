import { ShardingError } from '@app/routing';
import { columnList, quoted, quotedTable } from './quoted.js';
import { filterOf } from './scope-filter.js';
import { tableName, type MovedTable } from './tables/moved-table.js';
import type { MovedContent } from './content.js';
import type { MoveSession } from './move-session.js';

/** A foreign key of a moved table; columns in pairs. */
interface Reference {
  readonly name: string;
  readonly schema: string;
  readonly table: string;
  readonly toSchema: string;
  readonly toTable: string;
  readonly columns: readonly string[];
  readonly toColumns: readonly string[];
}

const REFERENCES = `
  select con.conname as name, n.nspname as schema, c.relname as table, tn.nspname as "toSchema", t.relname as "toTable",
    array(select a.attname::text from unnest(con.conkey) with ordinality k (num, at)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.num order by k.at) as columns,
    array(select a.attname::text from unnest(con.confkey) with ordinality k (num, at)
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.num order by k.at) as "toColumns"
  from pg_constraint con
  join pg_class c on c.oid = con.conrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_class t on t.oid = con.confrelid join pg_namespace tn on tn.oid = t.relnamespace
  where con.contype = 'f' and con.conparentid = 0
    and (n.nspname, c.relname) in (select * from unnest($1::text[], $2::text[]))`;

/**
 * What the foreign keys would have checked, had they not been switched off with the triggers.
 *
 * @throws ShardingError `move_refused`, which rolls the copy back
 */
export async function assertReferences(session: MoveSession, { tables, rows }: MovedContent): Promise<void> {
  const { rows: references } = await session.client.query<Reference>(REFERENCES, [
    tables.map(({ schema }) => schema),
    tables.map(({ name }) => name),
  ]);
  for (const table of tables) {
    const filter = await filterOf(session, table, rows);
    for (const reference of references.filter((each) => isOf(each, table))) {
      const lost = await countLost(session, reference, { table, filter });
      if (lost === '0') continue;
      throw new ShardingError(
        'move_refused',
        `${lost} rows of ${tableName(table)} refer by ${reference.name} to rows of ${reference.toSchema}.${reference.toTable} that are not there: move that table too`,
      );
    }
  }
}

function isOf({ schema, table }: Reference, moved: MovedTable): boolean {
  return schema === moved.schema && table === moved.name;
}

async function countLost(
  { client }: MoveSession,
  { columns, toColumns, toSchema, toTable }: Reference,
  { table, filter }: { readonly table: MovedTable; readonly filter: string },
): Promise<string> {
  const same = columns.map((column, at) => `there.${quoted(toColumns[at] ?? '')} = here.${quoted(column)}`);
  const { rows } = await client.query<{ lost: string }>(
    `select count(*)::text as lost
      from (select ${columnList(columns)} from ${quotedTable(table)} where ${filter}) here
      where num_nulls(${columns.map((column) => `here.${quoted(column)}`).join(', ')}) = 0
        and not exists (select from ${quotedTable({ schema: toSchema, name: toTable })} there where ${same.join(' and ')})`,
  );
  return rows[0]?.lost ?? '0';
}
