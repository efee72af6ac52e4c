import { orderTables } from '../../tables/order-tables.js';
import { tableName } from '../../tables/moved-table.js';
import type { ForeignKeyFacts } from '../facts/read-foreign-keys.js';
import type { Finding } from '../finding.js';
import { about, SIDES, type Facts } from './facts.js';

/** Tables that must move together, and tables that no order suits. */
export function references(facts: Facts): Finding[] {
  return [...leaving(facts), ...entering(facts), ...rings(facts)];
}

function leaving({ tables, source }: Facts): Finding[] {
  return source.foreignKeys.flatMap((foreign) => {
    const table = foreign.from === null || foreign.to !== null ? undefined : tables[foreign.from];
    if (!table || !foreign.toHasKey) return [];
    return [
      about('reference', table).error(
        `refers to ${foreign.toTable} (${foreign.columns.join(', ')}), which has the key column and is not moved: move both`,
      ),
    ];
  });
}

/** The purge would fail, or take rows with it. */
function entering(facts: Facts): Finding[] {
  return SIDES.flatMap((side) =>
    facts[side].foreignKeys.flatMap(({ from, to, fromTable, columns }) => {
      const table = from !== null || to === null ? undefined : facts.tables[to];
      if (!table) return [];
      return [
        about('reference', table).error(
          `${fromTable} refers to it (${columns.join(', ')}) on ${facts.names[side]} and is not moved: move both`,
        ),
      ];
    }),
  );
}

/** One statement may write a ring within its own table; over several only constraints help that wait for the commit. */
function rings({ tables, source }: Facts): Finding[] {
  const at = (place: number | null) => String(place);
  const fixed = source.foreignKeys.filter(
    ({ from, to, ...one }) => joins({ from, to, ...one }) && !one.deferrable,
  );
  const edges = fixed.map(({ from, to }) => ({ from: at(from), to: at(to) }));
  const groups = orderTables(
    tables.map((_table, place) => at(place)),
    edges,
  );
  return groups
    .filter((group) => group.length > 1)
    .flatMap((group) => {
      const [first] = group.map((place) => tables[Number(place)]);
      if (!first) return [];
      const names = group.map((place) => tableName(tables[Number(place)] ?? first));
      return [
        about('reference', first).error(
          `${names.join(', ')} refer to each other: make a foreign key between them deferrable (alter table ... alter constraint ... deferrable), and not "on delete restrict"`,
        ),
      ];
    });
}

function joins({ from, to, enforced }: ForeignKeyFacts): boolean {
  return from !== null && to !== null && from !== to && enforced;
}
