import { check } from '../check.js';
import { readIndexedTables, shardedNames, type IndexedTables } from '../sharded-tables.js';
import type { Verdict } from '../finding.js';

/** The rows of one tenant are found without reading those of the others. */
export const tenantIndex = check<IndexedTables>({
  name: 'tenant-index',
  scope: 'target',
  read: readIndexedTables,
  judge: (found, { rules }) =>
    found.flatMap(({ place, facts }) => tenantIndexVerdicts(place.label, facts, rules.tenantColumn)),
});

export function tenantIndexVerdicts(
  target: string,
  { tables, indexes }: IndexedTables,
  tenantColumn: string,
): Verdict[] {
  const leads = indexes.filter(
    ({ columns, valid, partial }) => columns[0] === tenantColumn && valid && !partial,
  );
  return [...shardedNames(tables, tenantColumn)]
    .filter((name) => leads.every(({ table }) => table !== name))
    .map((name) => ({
      severity: 'warning',
      target,
      reason: `no index of the table ${name} begins with ${tenantColumn}: each read of a tenant, and each move, reads all rows`,
      remedy: `create index concurrently on ${name} (${tenantColumn}), with the columns behind it that you order or filter by`,
    }));
}
