/** A column, as the catalog has it. */
export interface MovedColumn {
  readonly name: string;
  /** With its modifier, every name qualified: `numeric(38,18)`, `public.mood`. */
  readonly type: string;
  /** Computed by the server: checked, and not copied. */
  readonly generated: boolean;
}

/** A table whose rows move, with all that the statements on it need. Kept with the record of the move. */
export interface MovedTable {
  readonly schema: string;
  readonly name: string;
  /** By name: both sides may have them in another order. */
  readonly columns: readonly MovedColumn[];
  readonly key: MovedColumn;
  /** Columns of the primary key, or of a unique key without nulls; empty without one. */
  readonly id: readonly string[];
  /** The id column that the destination numbers anew: neither copied nor part of the proof. */
  readonly renumbered?: string | null;
  /** Whether the types mean the same in another database: not where they are the user's own inside of arrays. */
  readonly format: 'binary' | 'text';
}

/** `public.bookmarks`, for people. */
export function tableName({ schema, name }: Pick<MovedTable, 'schema' | 'name'>): string {
  return `${schema}.${name}`;
}
