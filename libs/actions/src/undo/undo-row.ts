import { quoted, quotedTable, same } from '../rows/row-sql.js';
import type { ShardDb } from '@app/sharding';
import type { ChangeKind } from '../plan/action-plan.js';
import type { RowOperation, TableName } from '../rows/row-operation.js';

/** How one written row is put back. */
export interface UndoRow {
  /** What was done. */
  readonly kind: ChangeKind;
  readonly entity: string;
  readonly table: TableName;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  readonly version?: string | undefined;
  /** The columns that an update has set. */
  readonly columns: readonly string[];
  /**
   * The row as JSON text: of an insert as it was written, else as it was before. Text, since its numbers may be longer than
   * those of JavaScript.
   */
  readonly image: string;
}

/** What has to be kept of an operation to put its row back; `image` as in {@link UndoRow}. */
export function undoOf(operation: RowOperation, image: string): UndoRow {
  const { kind, entity, table, key, version } = operation;
  const columns = kind === 'update' ? [...Object.keys(operation.values), ...operation.now] : [];
  return { kind, entity, table, key, version, columns, image };
}

/** The row that an update or delete means, as it is now; undefined where it is gone. Locks it. */
export async function imageOf(
  tx: ShardDb,
  operation: Exclude<RowOperation, { kind: 'insert' }>,
): Promise<string> {
  const target = quotedTable(operation.table);
  const [row] = await tx.query<{ image: string }[]>(
    `select to_json(own)::text as image from ${target} own, json_populate_record(null::${target}, $1) meant
    where ${same('own', 'meant', operation.key)} for update of own`,
    [JSON.stringify(operation.where)],
  );
  return row?.image ?? '{}';
}

/** Puts one row back, where it is as the action has left it. @returns false where it is not */
export async function undoRow(tx: ShardDb, row: UndoRow): Promise<boolean> {
  if (row.kind === 'delete') return insertAgain(tx, row);
  const sql = row.kind === 'insert' ? deleteSql(row) : restoreSql(row);
  const [, changed] = await tx.query<[unknown, number]>(sql, [row.image]);
  return changed === 1;
}

/** A row without a version must be wholly as it was written. */
function deleteSql({ table, key, version }: UndoRow): string {
  const target = quotedTable(table);
  const unchanged = version === undefined ? 'to_jsonb(own) = $1::jsonb' : same('own', 'meant', [version]);
  return `delete from ${target} own using json_populate_record(null::${target}, $1) meant
    where ${same('own', 'meant', key)} and ${unchanged}`;
}

/** The version goes on: whoever has loaded the row meanwhile is stale. */
function restoreSql({ table, key, version = '', columns }: UndoRow): string {
  const target = quotedTable(table);
  const at = quoted(version);
  const set = [
    ...columns.map((column) => `${quoted(column)} = past.${quoted(column)}`),
    `${at} = own.${at} + 1`,
  ];
  return `update ${target} own set ${set.join(', ')} from json_populate_record(null::${target}, $1) past
    where ${same('own', 'past', key)} and own.${at} = past.${at} + 1`;
}

async function insertAgain(tx: ShardDb, { table, image }: UndoRow): Promise<boolean> {
  const target = quotedTable(table);
  const stored = await tx.query<{ name: string }[]>(
    `select attname as name from pg_attribute
    where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [target],
  );
  const columns = stored.map(({ name }) => quoted(name)).join(', ');
  const rows = await tx.query(
    `insert into ${target} (${columns}) overriding system value
    select ${columns} from json_populate_record(null::${target}, $1) on conflict do nothing returning 1`,
    [image],
  );
  return rows.length === 1;
}
