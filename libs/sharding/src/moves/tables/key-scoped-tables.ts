/** A table of the framework whose rows belong to a routing key. */
export interface KeyScopedTable {
  readonly name: string;
  readonly keyColumn: string;
}

/** They move with the tables of the application. The features that make such tables add them here. */
export const KEY_SCOPED_TABLES: readonly KeyScopedTable[] = [];
