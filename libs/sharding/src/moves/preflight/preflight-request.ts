import type { MovedRows } from '../scope-filter.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/** What is to be looked at. The sessions are in no transaction. */
export interface PreflightRequest {
  readonly source: MoveSession;
  readonly destination: MoveSession;
  /** As the source has them. */
  readonly tables: readonly MovedTable[];
  readonly rows: MovedRows;
  /** Of the shards. */
  readonly names: { readonly source: string; readonly destination: string };
  /** The column that has to tell the rows of each table apart. Default: any key does. */
  readonly idColumn?: string | undefined;
  /** An earlier copy of the same move may be at the destination. */
  readonly ownCopy?: boolean;
  /** `table.column` of ids that name the shard that made them, from the metadata of the entities. */
  readonly embeddedIds?: readonly string[];
}
