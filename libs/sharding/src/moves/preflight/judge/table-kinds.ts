import type { Finding } from '../finding.js';
import { about, pairs, pathsAt, SIDES, type Facts } from './facts.js';

export function presentTables(facts: Facts): Finding[] {
  const { tables, names } = facts;
  return tables.flatMap((table, place) => {
    const missing = SIDES.filter((side) => pathsAt(facts[side], place).length === 0);
    return missing.map((side) =>
      about('table', table).error(`${names[side]} has no such table: create it there (shardctl migrate)`),
    );
  });
}

export function sameKinds(facts: Facts): Finding[] {
  const { names } = facts;
  return pairs(facts).flatMap(({ table, source, destination }) => {
    if (source.kind !== destination.kind) {
      const kinds = `a ${source.kind} on ${names.source} and a ${destination.kind} on ${names.destination}`;
      return [about('table', table).error(`is ${kinds}: make both the same`)];
    }
    if (source.partitionKey === destination.partitionKey) return [];
    const keys = `${source.partitionKey} on ${names.source} and by ${destination.partitionKey} on ${names.destination}`;
    return [about('table', table).error(`is partitioned by ${keys}: make both the same`)];
  });
}

/** A crash empties an unlogged table, and the purge would have trusted it. */
export function persistence({ tables, names, source, destination }: Facts): Finding[] {
  return tables.flatMap((table, place) => {
    const unlogged = (side: typeof source) =>
      side.relations.some((relation) => relation.place === place && relation.unlogged);
    if (!unlogged(destination)) return [];
    const { error, warning } = about('persistence', table);
    const what = `is unlogged on ${names.destination}: a crash there empties it`;
    return [unlogged(source) ? warning(what) : error(`${what} (alter table ... set logged)`)];
  });
}

export function inheritance(facts: Facts): Finding[] {
  return facts.tables.flatMap((table, place) =>
    SIDES.flatMap((side) => {
      const relatives = facts[side].relations
        .filter((one) => one.place === place)
        .flatMap((one) => one.relatives);
      if (relatives.length === 0) return [];
      const which = [...new Set(relatives)].join(', ');
      return [
        about('inheritance', table).error(
          `shares rows by inheritance with ${which} on ${facts.names[side]}, which a move does not know: end the inheritance (alter table ... no inherit)`,
        ),
      ];
    }),
  );
}

/** Of a partition that is missing, what is below it is not told. */
export function partitions({ tables, names, source, destination }: Facts): Finding[] {
  return tables.flatMap((table, place) => {
    const there = pathsAt(destination, place);
    if (there.length === 0) return [];
    const missing = pathsAt(source, place).filter((path) => !there.includes(path));
    return missing
      .filter((path) => !missing.some((above) => path.startsWith(`${above} / `)))
      .map((path) =>
        about('partition', table).error(`${names.destination} lacks the partition ${path}: create it there`),
      );
  });
}
