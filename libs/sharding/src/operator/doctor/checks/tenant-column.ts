import { tableFacts, type TableFacts } from '../catalog/table-facts.js';
import { check, type TenantRules } from '../check.js';
import type { Verdict } from '../finding.js';

/** Whose a row is stands in the row. */
export const tenantColumn = check<TableFacts[]>({
  name: 'tenant-column',
  scope: 'target',
  read: (place, look) =>
    place.role === 'primary' && place.shard !== undefined ? look.read(tableFacts) : undefined,
  judge: (found, { rules }) =>
    found.flatMap(({ place, facts }) => tenantColumnVerdicts(place.label, facts, rules)),
});

/**
 * A table with the column is sharded. One without it is taken for reference data, which is told, unless the operator has
 * said that it is sharded.
 */
export function tenantColumnVerdicts(
  target: string,
  tables: readonly TableFacts[],
  { tenantColumn: column, shardedTables }: TenantRules,
): Verdict[] {
  const named = new Set(shardedTables);
  const missing = shardedTables.filter((name) => tables.every((table) => table.name !== name));
  return [
    ...missing.map((name): Verdict => ({
      severity: 'error',
      target,
      reason: `has no table ${name}`,
      remedy:
        'run the migrations there, or see how the name is written (schema.table outside of the search_path)',
    })),
    ...tables.flatMap((table) => {
      if (table.columns.includes(column)) return nullable(target, table, column);
      return [named.has(table.name) ? lacking(target, table, column) : reference(target, table, column)];
    }),
  ];
}

function lacking(target: string, { name }: TableFacts, column: string): Verdict {
  return {
    severity: 'error',
    target,
    reason: `the table ${name} has no column ${column}: whose its rows are is not known, so that no repository can filter and no move can take them`,
    remedy: `add it: alter table ${name} add ${column} ... not null`,
  };
}

function reference(target: string, { name }: TableFacts, column: string): Verdict {
  return {
    severity: 'info',
    target,
    reason: `the table ${name} has no column ${column}: it is taken for reference data, which has the same rows on every shard`,
    remedy: `nothing if it is; else add the column, and name the table with --sharded-table`,
  };
}

function nullable(target: string, { name, nullable: nulls }: TableFacts, column: string): Verdict[] {
  if (!nulls.includes(column)) return [];
  return [
    {
      severity: 'warning',
      target,
      reason: `the table ${name} takes rows without ${column}: nobody finds them, and no move takes them`,
      remedy: `alter table ${name} alter ${column} set not null`,
    },
  ];
}
