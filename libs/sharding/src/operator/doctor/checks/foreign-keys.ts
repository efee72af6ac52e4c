import { foreignKeyFacts, type ForeignKeyFacts } from '../catalog/foreign-key-facts.js';
import { tableFacts, type TableFacts } from '../catalog/table-facts.js';
import { check } from '../check.js';
import { shardedNames } from '../sharded-tables.js';
import type { Verdict } from '../finding.js';

interface KeyedTables {
  readonly tables: readonly TableFacts[];
  readonly foreignKeys: readonly ForeignKeyFacts[];
}

/** References stay with their tenant, wherever it is moved. */
export const foreignKeys = check<KeyedTables>({
  name: 'foreign-keys',
  scope: 'target',
  read: (place, look) =>
    place.role === 'primary' && place.shard !== undefined
      ? look.read(tableFacts).then(async (tables) => ({
          tables,
          foreignKeys: await look.read(foreignKeyFacts),
        }))
      : undefined,
  judge: (found, { rules }) =>
    found.flatMap(({ place, facts }) => foreignKeyVerdicts(place.label, facts, rules.tenantColumn)),
});

export function foreignKeyVerdicts(
  target: string,
  { tables, foreignKeys: keys }: KeyedTables,
  tenantColumn: string,
): Verdict[] {
  const sharded = shardedNames(tables, tenantColumn);
  return keys.flatMap((key) => {
    const [from, to] = [sharded.has(key.table), sharded.has(key.references)];
    const name = `the foreign key ${key.name} of ${key.table}`;
    if (from && to) return namesTenant(key, tenantColumn) ? [] : [crossing(target, name, tenantColumn)];
    if (to) return [leftBehind(target, name, key)];
    return from ? [reference(target, name, key)] : [];
  });
}

/** The tenant columns of both sides are compared with each other. */
function namesTenant({ columns, referenced }: ForeignKeyFacts, tenantColumn: string): boolean {
  return columns.some((column, index) => column === tenantColumn && referenced[index] === tenantColumn);
}

function crossing(target: string, name: string, tenantColumn: string): Verdict {
  return {
    severity: 'warning',
    target,
    reason: `${name} compares no ${tenantColumn}: a row can refer to a row of another tenant, which a move would leave on another shard`,
    remedy: `make it (${tenantColumn}, ...) references ... (${tenantColumn}, ...), over a unique index of these columns`,
  };
}

function leftBehind(target: string, name: string, { table, references }: ForeignKeyFacts): Verdict {
  return {
    severity: 'warning',
    target,
    reason: `${name} refers to the sharded table ${references}, and ${table} is not sharded: its rows do not move with what they refer to`,
    remedy: `give ${table} the tenant column, or drop the foreign key`,
  };
}

function reference(target: string, name: string, { references }: ForeignKeyFacts): Verdict {
  return {
    severity: 'info',
    target,
    reason: `${name} refers to ${references}, which is not sharded: the row has to be there on every shard, or the tenant cannot be moved to it`,
    remedy: `keep ${references} the same on all shards`,
  };
}
