import { filterOf, type MovedRows } from './scope-filter.js';
import { quotedTable } from './quoted.js';
import type { ExpectedRows } from './mover.js';
import type { MoveSession } from './move-session.js';
import type { MovedTable } from './tables/moved-table.js';

interface Where {
  readonly source: MoveSession;
  readonly rows: MovedRows;
  /** Slots that the source owns. */
  readonly slotCount: number;
}

/** A tuple on its way: length of each column, and of the row. */
const OVERHEAD = { row: 6, column: 4 } as const;

/** What the planner expects of the rows that are copied; nothing is read for it. */
export async function expectedRows(
  table: MovedTable,
  { source, rows, slotCount }: Where,
): Promise<ExpectedRows> {
  const inSlots = 'slots' in rows.scope; // whose share the planner does not know
  const filter = inSlots ? 'true' : await filterOf(source, table, rows);
  const { rows: answers } = await source.client.query<{ 'QUERY PLAN': readonly [{ Plan: Plan }] }>(
    `explain (format json) select * from ${quotedTable(table)} where ${filter}`,
  );
  const plan = answers[0]?.['QUERY PLAN'][0].Plan ?? { 'Plan Rows': 0, 'Plan Width': 0 };
  const share = 'slots' in rows.scope ? Math.min(1, rows.scope.slots.length / Math.max(1, slotCount)) : 1;
  const count = Math.ceil(plan['Plan Rows'] * share);
  const width = plan['Plan Width'] + OVERHEAD.row + OVERHEAD.column * table.columns.length;
  return { rows: count, bytes: count * width };
}

interface Plan {
  readonly 'Plan Rows': number;
  readonly 'Plan Width': number;
}
