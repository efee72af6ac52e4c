import { MoveMismatch, type TableDifference } from './move-mismatch.js';
import { fingerprint, sameContent, type Seeds } from './fingerprint.js';
import { filterOf, type MovedRows } from './scope-filter.js';
import { tableName, type MovedTable } from './tables/moved-table.js';
import type { MoveSession } from './move-session.js';
import type { MoveProof } from './record/move-record.js';

/** What both sides are asked about. */
export interface MovedContent {
  readonly tables: readonly MovedTable[];
  readonly rows: MovedRows;
}

/** What the rows of a move contain on one side, in the snapshot of the session's transaction. */
export async function contentOf(
  session: MoveSession,
  { tables, rows }: MovedContent,
  seeds: Seeds,
): Promise<MoveProof> {
  const found: MoveProof['tables'][number][] = [];
  for (const table of tables) {
    const filter = await filterOf(session, table, rows);
    found.push({ table: tableName(table), ...(await fingerprint(session, table, { filter, seeds })) });
  }
  return { seeds, tables: found };
}

/**
 * The same on both sides at once, each in its own transaction. Where one fails, the session of the other ends: nothing runs on.
 */
export async function contentOfBoth(
  sides: readonly [source: MoveSession, destination: MoveSession],
  content: MovedContent,
  seeds: Seeds,
): Promise<[source: MoveProof, destination: MoveProof]> {
  const failures: unknown[] = [];
  const found = await Promise.allSettled(
    sides.map((side) =>
      contentOf(side, content, seeds).catch((error: unknown) => {
        failures.push(error);
        for (const { client } of sides) void client.end().catch(() => undefined);
        throw error;
      }),
    ),
  );
  const [here, there] = found;
  if (here?.status === 'fulfilled' && there?.status === 'fulfilled') return [here.value, there.value];
  throw failures[0];
}

/** The tables whose content differs; of the same seeds and tables. */
export function differences(expected: MoveProof, found: MoveProof): TableDifference[] {
  return expected.tables.flatMap((table, at) => {
    const now = found.tables[at];
    if (now && sameContent(table, now)) return [];
    return [{ table: table.table, expectedRows: table.rows, foundRows: now?.rows ?? '0' }];
  });
}

/** @throws MoveMismatch */
export function assertSame(message: string, expected: MoveProof, found: MoveProof): void {
  const different = differences(expected, found);
  if (different.length > 0) throw new MoveMismatch(message, different);
}

export function rowsIn({ tables }: MoveProof): bigint {
  return tables.reduce((sum, { rows }) => sum + BigInt(rows), 0n);
}
