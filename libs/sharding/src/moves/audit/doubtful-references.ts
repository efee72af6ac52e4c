import { columnList, quoted, quotedTable } from '../quoted.js';
import { reading } from './reading.js';
import { tableName } from '../tables/moved-table.js';
import type { AuditFinding } from './audit-finding.js';
import type { AuditedTable } from './audited-tables.js';
import type { MoveSession } from '../move-session.js';

/** A foreign key that was never validated, or whose triggers are off; columns in pairs. */
export interface DoubtfulReference {
  /** Of the table that refers. */
  readonly oid: string;
  readonly name: string;
  readonly toSchema: string;
  readonly toTable: string;
  readonly columns: readonly string[];
  readonly toColumns: readonly string[];
}

/** `conenforced` is of PostgreSQL 18. */
const DOUBTFUL = `
  select con.conrelid::text as oid, con.conname::text as name, tn.nspname::text as "toSchema", t.relname::text as "toTable",
    array(select a.attname::text from unnest(con.conkey) with ordinality k (num, at)
      join pg_attribute a on a.attrelid = con.conrelid and a.attnum = k.num order by k.at) as columns,
    array(select a.attname::text from unnest(con.confkey) with ordinality k (num, at)
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.num order by k.at) as "toColumns"
  from pg_constraint con
    join pg_class t on t.oid = con.confrelid join pg_namespace tn on tn.oid = t.relnamespace
  where con.contype = 'f' and con.conparentid = 0 and con.conrelid = any ($1::oid[])
    and (not con.convalidated or not coalesce((to_jsonb(con) ->> 'conenforced')::boolean, true)
      or exists (select from pg_trigger g where g.tgconstraint = con.oid and g.tgenabled in ('D', 'R')))
  order by con.conname`;

export async function doubtfulReferences(
  { client }: MoveSession,
  oids: readonly string[],
): Promise<DoubtfulReference[]> {
  const { rows } = await client.query<DoubtfulReference>(DOUBTFUL, [oids]);
  return rows;
}

/** Rows of these keys that refer to nothing. */
export async function orphans(
  session: MoveSession,
  { shard, table }: { readonly shard: string; readonly table: AuditedTable },
  keys: readonly string[],
): Promise<AuditFinding[]> {
  const findings: AuditFinding[] = [];
  for (const reference of table.references) {
    const lost = await lostRows(session, { table, reference }, keys);
    for (const key of keys) {
      const rows = lost.get(key);
      if (rows === undefined) continue;
      const to = `${reference.toSchema}.${reference.toTable}`;
      findings.push({
        kind: 'orphan',
        severity: 'error',
        shard,
        table: tableName(table),
        key,
        rows,
        message: `refers by ${reference.name} to rows of ${to} that are not there; the constraint is not valid, or switched off`,
        remedy: 'mend the rows by hand, then validate the constraint: such rows are not moved',
      });
    }
  }
  return findings;
}

async function lostRows(
  session: MoveSession,
  { table, reference }: { readonly table: AuditedTable; readonly reference: DoubtfulReference },
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { columns, toColumns, toSchema, toTable } = reference;
  const key = quoted(table.key.name);
  const same = columns.map((column, at) => `there.${quoted(toColumns[at] ?? '')} = here.${quoted(column)}`);
  const { rows } = await reading(session, () =>
    session.client.query<{ key: string; rows: number }>(
      `select here.${key}::text as key, count(*)::float8 as rows from ${quotedTable(table)} here
      where here.${key} = any ($1::text[]::${table.key.type}[]) and num_nulls(${columnList(columns)}) = 0
        and not exists (select from ${quotedTable({ schema: toSchema, name: toTable })} there where ${same.join(' and ')})
      group by here.${key}`,
      [keys],
    ),
  );
  return new Map(rows.map((row) => [row.key, row.rows]));
}
