import { ShardingError } from '@app/routing';
import { assertSame, contentOf, type MovedContent } from '../content.js';
import { filterOf } from '../scope-filter.js';
import { quotedTable } from '../quoted.js';
import type { MoveProof } from '../record/move-record.js';
import type { MoveSession } from '../move-session.js';
import type { Mover } from '../mover.js';

/**
 * Takes the committed copy away again, in the destination's transaction.
 *
 * @throws MoveMismatch when it is not what was copied: somebody else has written there
 */
export async function removeCopy({ destination, content, lease }: Mover, copied: MoveProof): Promise<void> {
  await lockRows(destination, content);
  const found = await contentOf(destination, content, copied.seeds);
  const message = `the rows at ${lease.record.destination} are not those that this move has copied; they were not touched`;
  assertSame(message, copied, found);
  const counts = await deleteRows(destination, content);
  if (counts.every((count, at) => count === copied.tables[at]?.rows)) return;
  throw new ShardingError('move_refused', `${message}: somebody writes them right now`);
}

/** From here on nobody changes what is there; what comes is found by its number. */
async function lockRows(session: MoveSession, { tables, rows }: MovedContent): Promise<void> {
  for (const table of tables) {
    const filter = await filterOf(session, table, rows);
    await session.client.query(
      `select count(*) from (select from ${quotedTable(table)} where ${filter} for update) locked`,
    );
  }
}

/** Referring tables first. @returns how many rows, by table in the order of the tables */
export async function deleteRows(session: MoveSession, { tables, rows }: MovedContent): Promise<string[]> {
  const counts: string[] = [];
  for (const table of tables.toReversed()) {
    const filter = await filterOf(session, table, rows);
    const { rowCount } = await session.client.query(`delete from ${quotedTable(table)} where ${filter}`);
    counts.unshift(String(rowCount ?? 0));
  }
  return counts;
}
