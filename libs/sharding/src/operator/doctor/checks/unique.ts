import { foreignKeyFacts, type ForeignKeyFacts } from '../catalog/foreign-key-facts.js';
import { check } from '../check.js';
import { readIndexedTables, shardedNames, type IndexedTables } from '../sharded-tables.js';
import type { Verdict } from '../finding.js';

export interface UniqueFacts extends IndexedTables {
  readonly foreignKeys: readonly ForeignKeyFacts[];
}

/** What is unique is unique for its tenant: over several shards nothing can be. */
export const unique = check<UniqueFacts>({
  name: 'unique',
  scope: 'target',
  read: (place, look) =>
    readIndexedTables(place, look)?.then(async (tables) => ({
      ...tables,
      foreignKeys: await look.read(foreignKeyFacts),
    })),
  judge: (found, { rules }) =>
    found.flatMap(({ place, facts }) => uniqueVerdicts(place.label, facts, rules.tenantColumn)),
});

/**
 * Left out: keys with the tenant column, and keys with a column whose values belong to one tenant anyway: an identity, a
 * serial, a uuid, or a reference to a row of a sharded table.
 */
export function uniqueVerdicts(target: string, facts: UniqueFacts, tenantColumn: string): Verdict[] {
  const sharded = shardedNames(facts.tables, tenantColumn);
  const ids = new Map(facts.tables.map(({ name, ids: columns }) => [name, columns]));
  const referring = facts.foreignKeys.filter(({ references }) => sharded.has(references));
  const ofOneTenant = (table: string, column: string) =>
    column === tenantColumn ||
    ids.get(table)?.includes(column) === true ||
    referring.some((key) => key.table === table && key.columns.includes(column));
  return facts.indexes
    .filter(({ unique: isUnique, table }) => isUnique && sharded.has(table))
    .filter(({ table, columns }) => !columns.some((column) => ofOneTenant(table, column)))
    .map(({ name, table, columns, primary }) => ({
      severity: 'warning',
      target,
      reason: `${primary ? 'the primary key' : 'the unique index'} ${name} of ${table} (${columns.map((column) => column || 'expression').join(', ')}) has no ${tenantColumn}: two tenants collide on one shard and not on two, and a move can fail on it`,
      remedy: `make it unique for its tenant, (${tenantColumn}, ...); what must be unique everywhere belongs on the control database`,
    }));
}
