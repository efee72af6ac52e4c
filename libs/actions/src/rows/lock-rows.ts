import { quoted, quotedTable } from './row-sql.js';
import type { ShardDb } from '@app/sharding';
import type { DeleteOperation, RowOperation, UpdateOperation } from './row-operation.js';

type Keyed = UpdateOperation | DeleteOperation;

/**
 * Locks the stored rows of several changes in the order of (table, primary key), so that two actions which change the same
 * rows in other orders wait for each other instead of deadlocking. A single row needs nothing.
 */
export async function lockRows(tx: ShardDb, operations: readonly RowOperation[]): Promise<void> {
  const keyed = operations.filter((operation): operation is Keyed => operation.kind !== 'insert');
  if (keyed.length < 2) return;
  for (const rows of byTable(keyed))
    await tx.query(lockSql(rows), [JSON.stringify(rows.map(({ where }) => where))]);
}

type OfOneTable = readonly [Keyed, ...Keyed[]];

function byTable(operations: readonly Keyed[]): OfOneTable[] {
  const tables = new Map<string, [Keyed, ...Keyed[]]>();
  for (const operation of operations) {
    const name = quotedTable(operation.table);
    const rows = tables.get(name);
    if (rows) rows.push(operation);
    else tables.set(name, [operation]);
  }
  return [...tables].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, rows]) => rows);
}

/** An update leaves the key as it is, so that rows which refer to it can be written meanwhile. */
function lockSql(rows: OfOneTable): string {
  const [{ table, key }] = rows;
  const target = quotedTable(table);
  const columns = key.map(quoted).join(', ');
  const strength = rows.some(({ kind }) => kind === 'delete') ? 'update' : 'no key update';
  return `select 1 from ${target} own
    join (select distinct ${columns} from json_populate_recordset(null::${target}, $1)) meant using (${columns})
    order by ${columns} for ${strength} of own`;
}
