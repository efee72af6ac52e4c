import { inTransaction, type MoveSession } from '../move-session.js';
import { tableName } from '../tables/moved-table.js';
import { collisions } from './data/collisions.js';
import { crossingReferences } from './data/crossing-references.js';
import { filtered } from './data/filtered.js';
import { lostReferences } from './data/lost-references.js';
import { rowsThere } from './data/rows-there.js';
import { space } from './data/space.js';
import { readSide, type SideFacts } from './facts/side-facts.js';
import { inOrder, type Check, type Finding } from './finding.js';
import { judge } from './judge/judge.js';
import type { PreflightRequest } from './preflight-request.js';

/**
 * Everything that could stop a later step of a move, or that the operator should know: all of it at once. Reads only. The rows
 * themselves are looked at too, all of those that move where their ids are not unique by the key.
 *
 * @throws the driver's error
 */
export async function preflight(request: PreflightRequest): Promise<Finding[]> {
  const { source, destination, tables, names, rows, idColumn, embeddedIds = [] } = request;
  return reading(source, () =>
    reading(destination, async () => {
      const sides = {
        source: await readSide(source, tables),
        destination: await readSide(destination, tables),
      };
      const judged = judge({ ...sides, names, tables, rows, idColumn, embeddedIds });
      return inOrder([...judged, ...(await lookAtRows(request, sides, judged))]);
    }),
  );
}

/** Definitions are written in one way, and nothing is. */
function reading<T>(session: MoveSession, work: () => Promise<T>): Promise<T> {
  return inTransaction(session, 'isolation level repeatable read read only', async () => {
    await session.client.query('set local quote_all_identifiers = off');
    return work();
  });
}

/** What keeps statements about the rows of a table from running. */
const BLOCKING: readonly Check[] = ['table', 'column', 'key', 'privilege', 'row-security'];

async function lookAtRows(
  request: PreflightRequest,
  { source, destination }: Readonly<Record<'source' | 'destination', SideFacts>>,
  judged: readonly Finding[],
): Promise<Finding[]> {
  if (judged.some(({ check }) => check === 'framework' || check === 'same-database')) return [];
  const blocked = new Set(judged.filter(({ check }) => BLOCKING.includes(check)).map(({ table }) => table));
  const places = [...request.tables.keys()].filter((place) => {
    const table = request.tables[place];
    return table !== undefined && !blocked.has(tableName(table));
  });
  const tables = await filtered(request, places);
  return [
    ...(await rowsThere(request, tables)),
    ...(await collisions(request, destination, tables)),
    ...(await lostReferences(request, withoutMissing(source, judged), tables)),
    ...(await crossingReferences(request, source, tables)),
    ...(await space(request, source, tables)),
  ];
}

/** Where the foreign keys of a table differ, what they refer to may be missing altogether. */
function withoutMissing(source: SideFacts, judged: readonly Finding[]): SideFacts {
  const differing = new Set(judged.filter(({ check }) => check === 'foreign-key').map(({ table }) => table));
  return { ...source, foreignKeys: source.foreignKeys.filter(({ fromTable }) => !differing.has(fromTable)) };
}
