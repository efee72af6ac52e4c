import { tableName, type MovedTable } from '../../tables/moved-table.js';
import type { MovedRows } from '../../scope-filter.js';
import type { Placed } from '../facts/relations.js';
import type { RelationFacts } from '../facts/read-relations.js';
import type { SideFacts } from '../facts/side-facts.js';
import type { Check, Finding } from '../finding.js';

export const SIDES = ['source', 'destination'] as const;
export type Side = (typeof SIDES)[number];

/** What is judged. */
export interface Facts extends Readonly<Record<Side, SideFacts>> {
  /** Of the shards. */
  readonly names: Readonly<Record<Side, string>>;
  readonly tables: readonly MovedTable[];
  readonly rows: MovedRows;
  readonly idColumn?: string | undefined;
  /** `table.column` of ids that name their shard. */
  readonly embeddedIds: readonly string[];
}

/** Findings of one check about one table. */
export function about(check: Check, table: MovedTable) {
  const title = tableName(table);
  const found =
    (severity: Finding['severity']) =>
    (message: string): Finding => ({ check, severity, table: title, message: `${title}: ${message}` });
  return { error: found('error'), warning: found('warning') };
}

/** A table that both sides have. */
export interface Pair extends Readonly<Record<Side, RelationFacts>> {
  readonly place: number;
  readonly table: MovedTable;
}

export function pairs({ tables, source, destination }: Facts): Pair[] {
  return tables.flatMap((table, place) => {
    const here = rootAt(source, place);
    const there = rootAt(destination, place);
    return here && there ? [{ place, table, source: here, destination: there }] : [];
  });
}

/** Tables of one kind: their parts can be compared. */
export function comparable(facts: Facts): Pair[] {
  return pairs(facts).filter(({ source, destination }) => source.kind === destination.kind);
}

function rootAt({ relations }: SideFacts, place: number): RelationFacts | undefined {
  return relations.find((relation) => relation.place === place && relation.path === '');
}

/** What belongs to a table, without its partitions. */
export function atRoot<T extends Placed>(all: readonly T[], place: number): T[] {
  return all.filter((one) => one.place === place && one.path === '');
}

/** Bounds of the partitions that both sides have, and of the table itself. */
export function commonPaths({ source, destination }: Facts, place: number): string[] {
  const there = new Set(pathsAt(destination, place));
  return pathsAt(source, place).filter((path) => there.has(path));
}

export function pathsAt({ relations }: SideFacts, place: number): string[] {
  return relations.filter((relation) => relation.place === place).map(({ path }) => path);
}

/** ` of the partition for values in ('a')`; nothing for the table itself. */
export function ofPartition(path: string): string {
  return path === '' ? '' : ` of the partition ${path}`;
}

/** A list for people, not longer than is useful. */
export function listed(parts: readonly string[], most = 8): string {
  const shown = parts.slice(0, most).join(', ');
  return parts.length > most ? `${shown} and ${parts.length - most} more` : shown;
}
