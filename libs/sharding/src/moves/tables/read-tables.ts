import { askableName, chosenTables, type WantedTables } from './chosen-tables.js';
import { isKeyScoped, KEY_SCOPED_TABLES } from './key-scoped-tables.js';
import { keyTables } from './key-tables.js';
import { orderTables } from './order-tables.js';
import { readColumns, type ReadColumn } from './read-columns.js';
import { readIdentities } from './read-identities.js';
import { readReferences } from './read-references.js';
import type { MoveSession } from '../move-session.js';
import type { FoundTable } from './find-tables.js';
import type { MovedTable } from './moved-table.js';

/**
 * The tables whose rows move, as the catalog has them, such that a table comes after those that it refers to. Tables that
 * refer to each other come in any order; those of the framework are the last.
 *
 * @throws ShardingError `move_refused` for names that mean no table with the key column, or more than one
 */
export async function movedTables(session: MoveSession, wanted: WantedTables): Promise<MovedTable[]> {
  const all = await keyTables(session, askableName(wanted.keyColumn), KEY_SCOPED_TABLES);
  const own = all.filter((table) => !isKeyScoped(table));
  const found = [...(await chosenTables(session, wanted, own)), ...all.filter(isKeyScoped)];
  const oids = found.map(({ oid }) => oid);
  const references = await readReferences(session, oids);
  const columns = await readColumns(session, oids);
  const identities = await readIdentities(session, oids, ownIds(found, wanted));
  const fixed = references.filter(({ deferrable }) => !deferrable);
  const order = orderTables(oids, references).flatMap((ring) => orderTables(ring, fixed).flat());
  return found
    .toSorted((a, b) => order.indexOf(a.oid) - order.indexOf(b.oid))
    .map((table) => {
      const read = columns.filter(({ oid }) => oid === table.oid);
      const id = identities.find(({ oid }) => oid === table.oid)?.columns ?? [];
      return movedTable(table, read, id);
    });
}

/** Tables of the framework have ids of their own. */
function ownIds(
  found: readonly FoundTable[],
  { idColumn }: WantedTables,
): { readonly column: string; readonly oids: readonly string[] } | undefined {
  if (idColumn === undefined) return undefined;
  const oids = found.filter((table) => !isKeyScoped(table)).map(({ oid }) => oid);
  return { column: askableName(idColumn), oids };
}

function movedTable(
  { schema, name, key: keyName }: FoundTable,
  read: readonly ReadColumn[],
  id: readonly string[],
): MovedTable {
  const columns = read
    .map(({ name: column, type, generated }) => ({ name: column, type, generated }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const key = columns.find((column) => column.name === keyName);
  if (key === undefined) throw new TypeError(`${schema}.${name} lost its key column while it was read`);
  return {
    schema,
    name,
    columns,
    key,
    id,
    format: read.every(({ portable }) => portable) ? 'binary' : 'text',
  };
}
