import { ShardingError } from '@app/routing';
import { findTables, type FoundTable } from './find-tables.js';
import { tableName } from './moved-table.js';
import type { MoveSession } from '../move-session.js';

/** Which tables are asked for. */
export interface WantedTables {
  /** Names of the search path, or with their schema. Default: all with the key column. */
  readonly tables?: readonly string[] | undefined;
  readonly keyColumn: string;
  /** Default: the primary key, or a unique key without nulls. */
  readonly idColumn?: string | undefined;
}

/** A name is shown up to here. */
const SHOWN = 80;

/**
 * Looks the wanted names up; all tables with the key where nothing is named.
 *
 * @param all with the key column, in the search path
 * @throws ShardingError `move_refused`
 */
export async function chosenTables(
  session: MoveSession,
  { tables, keyColumn }: WantedTables,
  all: readonly FoundTable[],
): Promise<readonly FoundTable[]> {
  if (tables === undefined) {
    if (all.length > 0) return all;
    throw new ShardingError('move_refused', `no table of the search path has a column ${shown(keyColumn)}`);
  }
  const names = [...new Set(tables)];
  const askable = names.map(askableName);
  const found = await findTables(session, askable, askableName(keyColumn));
  const problems = tableProblems(names, found, keyColumn);
  if (names.length === 0) problems.push('no table is named');
  if (problems.length > 0) {
    throw new ShardingError('move_refused', `${problems.join('; ')}; ${choice(all, keyColumn)}`);
  }
  return distinct(found.flat());
}

/** What the server does not take as text, unchanged, is the name of nothing. */
export function askableName(name: string): string {
  return /[\0\p{Cs}]/u.test(name) ? '' : name; // Cs: halves of characters
}

/** @param found what each of the names means */
export function tableProblems(
  names: readonly string[],
  found: readonly (readonly FoundTable[])[],
  keyColumn: string,
): string[] {
  const unknown = names.filter((_name, index) => found[index]?.length === 0);
  const problems = unknown.length > 0 ? [`no such table: ${unknown.map(shown).join(', ')}`] : [];
  for (const [index, name] of names.entries()) {
    const [table, ...others] = found[index] ?? [];
    if (table === undefined) continue;
    const title = shown(name);
    if (others.length > 0) {
      const meanings = [table, ...others].map(
        (each) => `table ${shown(each.name)} of schema ${shown(each.schema)}`,
      );
      problems.push(`${title} may be ${meanings.join(' or ')}: name it with its schema`);
    } else if (table.kind === 'partition') {
      problems.push(`${title} is a partition: name the partitioned table, which moves as a whole`);
    } else if (table.kind !== 'table')
      problems.push(`${title} is a ${table.kind}, and is not moved by its name`);
    else if (table.key === null) problems.push(`${title} has no column ${shown(keyColumn)}`);
  }
  return problems;
}

function choice(all: readonly FoundTable[], keyColumn: string): string {
  if (all.length === 0) return `no table of the search path has a column ${shown(keyColumn)}`;
  return `tables with ${shown(keyColumn)}: ${all.map(tableName).join(', ')}`;
}

/** Two names may mean the same table. */
function distinct(found: readonly FoundTable[]): FoundTable[] {
  return [...new Map(found.map((table) => [table.oid, table])).values()].toSorted((a, b) =>
    tableName(a) < tableName(b) ? -1 : 1,
  );
}

/** Quoted, one line, and not longer than is useful. */
function shown(name: string): string {
  const text = JSON.stringify(name);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}..."` : text;
}
