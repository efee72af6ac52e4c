/** What JSON can say. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Column -> value, as `json_populate_record` reads it. */
export type RowValues = Readonly<Record<string, JsonValue>>;

export interface TableName {
  readonly schema?: string | undefined;
  readonly name: string;
}

interface Operation {
  /** For messages. */
  readonly entity: string;
  readonly table: TableName;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  readonly version?: string | undefined;
}

/** A new row. */
export interface InsertOperation extends Operation {
  readonly kind: 'insert';
  readonly values: RowValues;
  /** Columns whose stored values are wanted back. */
  readonly returning: readonly string[];
}

/** A stored row by its key. */
interface KeyedOperation extends Operation {
  /** Primary key, tenant and version: the row that is meant, as it was loaded. */
  readonly where: RowValues;
}

export interface UpdateOperation extends KeyedOperation {
  readonly kind: 'update';
  readonly values: RowValues;
  /** Columns that are set to the time of the transaction; their values are wanted back. */
  readonly now: readonly string[];
}

export interface DeleteOperation extends KeyedOperation {
  readonly kind: 'delete';
}

/** One row to write, told without classes: it can be stored and written later by whoever knows SQL alone. */
export type RowOperation = InsertOperation | UpdateOperation | DeleteOperation;
