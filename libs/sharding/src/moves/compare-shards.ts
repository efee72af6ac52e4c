import { contentOfBoth } from './content.js';
import { inTransaction } from './move-session.js';
import { isKeyScoped } from './tables/key-scoped-tables.js';
import { keptKeys } from './routes.js';
import { movedTables } from './tables/read-tables.js';
import { newSeeds, sameContent } from './fingerprint.js';
import { onBothSides, withControl } from './with-mover.js';
import { scopeOf, type MoveRequest } from './move-request.js';
import type { MoveCall, MoveFleet } from './mover.js';

/** Whose rows are compared, and where. */
export type CompareRequest = Pick<
  MoveRequest,
  'from' | 'to' | 'keys' | 'slots' | 'tables' | 'keyColumn' | 'keyKind'
>;

/** One table on both shards. */
export interface ComparedTable {
  readonly table: string;
  readonly sourceRows: string;
  readonly destinationRows: string;
  readonly same: boolean;
}

const SNAPSHOT = 'isolation level repeatable read read only';

/**
 * What two shards hold of the same keys or slots, each in one snapshot of its own. Reads only; what is written meanwhile
 * looks like a difference.
 */
export function compareShards(
  request: CompareRequest,
  fleet: MoveFleet,
  call: MoveCall,
): Promise<ComparedTable[]> {
  const { from, to, keyColumn = 'tenant_id', keyKind = 'text' } = request;
  const scope = scopeOf(request);
  const { group } = fleet.topology.byName(from);
  return withControl(fleet, call, async (control) => {
    const kept = await keptKeys(control, fleet, { group, scope, keyKind });
    const sides = { source: from, destination: to, ...call };
    return onBothSides(fleet, sides, async (source, destination) => {
      const found = await movedTables(source, { tables: request.tables, keyColumn });
      const tables = request.tables ? found.filter((table) => !isKeyScoped(table)) : found;
      const content = { tables, rows: { scope, keyKind, kept } };
      const [here, there] = await inTransaction(source, SNAPSHOT, () =>
        inTransaction(destination, SNAPSHOT, () => contentOfBoth([source, destination], content, newSeeds())),
      );
      return here.tables.flatMap((table, at) => {
        const other = there.tables[at];
        if (!other) return [];
        const same = sameContent(table, other);
        return [{ table: table.table, sourceRows: table.rows, destinationRows: other.rows, same }];
      });
    });
  });
}
