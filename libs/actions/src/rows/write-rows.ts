import { ShardingError } from '@app/routing';
import { deleteSql, insertSql, updateSql } from './row-sql.js';
import { lockRows } from './lock-rows.js';
import { imageOf, undoOf } from '../undo/undo-row.js';
import type { ShardDb } from '@app/sharding';
import type { UndoRow } from '../undo/undo-row.js';
import type { DeleteOperation, InsertOperation, RowOperation, UpdateOperation } from './row-operation.js';

/** Columns that the database has set, by name. */
export type WrittenRow = Readonly<Record<string, unknown>>;

/**
 * Writes rows in their order, in the transaction of `tx`.
 *
 * @param undo is told how each row is put back, where that is wanted
 * @returns for each operation what it wanted back
 * @throws ShardingError `stale_row` for a row that was changed, or is gone, since it was loaded; what the server refuses
 */
export async function writeRows(
  tx: ShardDb,
  operations: readonly RowOperation[],
  undo?: UndoRow[],
): Promise<WrittenRow[]> {
  await lockRows(tx, operations);
  const written: WrittenRow[] = [];
  for (const batch of batches(operations)) {
    written.push(...('kind' in batch ? [await change(tx, batch, undo)] : await insert(tx, batch, undo)));
  }
  return written;
}

type Batch = readonly [InsertOperation, ...InsertOperation[]] | UpdateOperation | DeleteOperation;

/** Inserts that follow each other, of the same columns, are one statement. */
function batches(operations: readonly RowOperation[]): Batch[] {
  const all: Batch[] = [];
  let open: { readonly shape: string; readonly rows: [InsertOperation, ...InsertOperation[]] } | undefined;
  for (const operation of operations) {
    const shape = operation.kind === 'insert' ? shapeOf(operation) : undefined;
    if (operation.kind !== 'insert' || shape === undefined) {
      all.push(operation.kind === 'insert' ? [operation] : operation);
      open = undefined;
    } else if (open?.shape === shape) {
      open.rows.push(operation);
    } else {
      open = { shape, rows: [operation] };
      all.push(open.rows);
    }
  }
  return all;
}

/** Undefined for a row without values, which cannot be read from a list. */
function shapeOf({ table, values, returning }: InsertOperation): string | undefined {
  const columns = Object.keys(values);
  return columns.length === 0 ? undefined : JSON.stringify([table, columns, returning]);
}

async function insert(
  tx: ShardDb,
  batch: readonly [InsertOperation, ...InsertOperation[]],
  undo: UndoRow[] | undefined,
): Promise<readonly WrittenRow[]> {
  const { sql, parameters } = insertSql(batch, undo ? 'image' : 'values');
  const rows = await tx.query<(WrittenRow & { _sharding_image?: string })[]>(sql, parameters);
  return batch.map((operation, index) => {
    const { _sharding_image: image = '{}', ...row } = rows[index] ?? {};
    undo?.push(undoOf(operation, image));
    return row;
  });
}

async function change(
  tx: ShardDb,
  operation: UpdateOperation | DeleteOperation,
  undo: UndoRow[] | undefined,
): Promise<WrittenRow> {
  undo?.push(undoOf(operation, await imageOf(tx, operation)));
  const { sql, parameters } = operation.kind === 'update' ? updateSql(operation) : deleteSql(operation);
  const [rows, written] = await tx.query<[WrittenRow[], number]>(sql, parameters);
  if (written === 1) return rows[0] ?? {};
  throw staleRow(operation.entity, tx.shard.name);
}

export function staleRow(entity: string, shard: string): ShardingError {
  return new ShardingError(
    'stale_row',
    `a row of ${entity} on shard "${shard}" was changed or deleted since it was loaded: load it again`,
  );
}
