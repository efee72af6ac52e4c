import { ShardingError } from '@app/routing';
import { appendEvents, appendStatement } from '../outbox/append-events.js';
import { deleteSql, insertSql, updateSql } from './row-sql.js';
import { lockRows } from './lock-rows.js';
import { imageOf, undoOf } from '../undo/undo-row.js';
import type { ShardDb } from '@app/sharding';
import type { OutboxEvent } from '../outbox/outbox-event.js';
import type { Statement } from './row-sql.js';
import type { UndoRow } from '../undo/undo-row.js';
import type { DeleteOperation, InsertOperation, RowOperation, UpdateOperation } from './row-operation.js';

/** Columns that the database has set, by name. */
export type WrittenRow = Readonly<Record<string, unknown>>;

/** What is written besides the rows. */
export interface WriteOptions {
  /** In the statement of the last row, which spares a round trip. */
  readonly events?: readonly OutboxEvent[];
  /** Is told how each row is put back. */
  readonly undo?: UndoRow[] | undefined;
}

/**
 * Writes rows in their order, in the transaction of `tx`.
 *
 * @returns for each operation what it wanted back
 * @throws ShardingError `stale_row` for a row that was changed, or is gone, since it was loaded; what the server refuses
 */
export async function writeRows(
  tx: ShardDb,
  operations: readonly RowOperation[],
  { events = [], undo }: WriteOptions = {},
): Promise<WrittenRow[]> {
  await lockRows(tx, operations);
  const written: WrittenRow[] = [];
  const all = batches(operations);
  for (const [index, batch] of all.entries()) {
    const at = { tx, undo, events: index === all.length - 1 ? events : [] };
    written.push(...('kind' in batch ? [await change(batch, at)] : await insert(batch, at)));
  }
  if (all.length === 0) await appendEvents(tx, events);
  return written;
}

interface WritingAt extends WriteOptions {
  readonly tx: ShardDb;
  readonly events: readonly OutboxEvent[];
}

/** The statement with the events in front. */
function withEvents({ sql, parameters }: Statement, { events }: WritingAt): Statement {
  if (events.length === 0) return { sql, parameters };
  const appended = appendStatement(events, parameters.length + 1);
  return {
    sql: `with _sharding_events as (${appended.sql}) ${sql}`,
    parameters: [...parameters, ...appended.parameters],
  };
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
  batch: readonly [InsertOperation, ...InsertOperation[]],
  at: WritingAt,
): Promise<readonly WrittenRow[]> {
  const { tx, undo } = at;
  const { sql, parameters } = withEvents(insertSql(batch, undo ? 'image' : 'values'), at);
  const rows = await tx.query<(WrittenRow & { _sharding_image?: string })[]>(sql, parameters);
  return batch.map((operation, index) => {
    const { _sharding_image: image = '{}', ...row } = rows[index] ?? {};
    undo?.push(undoOf(operation, image));
    return row;
  });
}

async function change(operation: UpdateOperation | DeleteOperation, at: WritingAt): Promise<WrittenRow> {
  const { tx, undo } = at;
  undo?.push(undoOf(operation, await imageOf(tx, operation)));
  const statement = operation.kind === 'update' ? updateSql(operation) : deleteSql(operation);
  const { sql, parameters } = withEvents(statement, at);
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
