import type { ColumnFacts } from '../facts/read-columns.js';
import type { Finding } from '../finding.js';
import { about, commonPaths, ofPartition, comparable, type Facts } from './facts.js';

const PROPERTIES = ['type', 'collation', 'nullability', 'generated', 'identity'] as const;

/** Columns are the same on both sides, but for their order and their defaults. */
export function sameColumns(facts: Facts): Finding[] {
  return comparable(facts).flatMap(({ place, table }) => {
    const { error } = about('column', table);
    return commonPaths(facts, place).flatMap((path) => differences(facts, place, path).map(error));
  });
}

function differences({ names, source, destination }: Facts, place: number, path: string): string[] {
  const of = (columns: readonly ColumnFacts[]) =>
    columns.filter((column) => column.place === place && column.path === path);
  const [here, there] = [of(source.columns), of(destination.columns)];
  return [
    ...absent(here, there).map((column) => lacks(names.destination, column, path)),
    ...absent(there, here).map((column) => lacks(names.source, column, path)),
    ...here.flatMap((column) => {
      const other = there.find(({ name }) => name === column.name);
      const odd = PROPERTIES.filter((property) => other && column[property] !== other[property]);
      return odd.map((property) => {
        const values = `${said(column, property)} on ${names.source} and ${said(other, property)} on ${names.destination}`;
        return `column "${column.name}"${ofPartition(path)} ${WORDS[property]} ${values}: make both the same`;
      });
    }),
  ];
}

const WORDS: Readonly<Record<(typeof PROPERTIES)[number], string>> = {
  type: 'is',
  collation: 'has the collation',
  nullability: 'is',
  generated: 'is generated as',
  identity: 'is an identity',
};

function said(column: ColumnFacts | undefined, property: (typeof PROPERTIES)[number]): string {
  return column?.[property] ?? '(none)';
}

function absent(of: readonly ColumnFacts[], from: readonly ColumnFacts[]): ColumnFacts[] {
  return of.filter(({ name }) => !from.some((other) => other.name === name));
}

function lacks(shard: string, { name, type }: ColumnFacts, path: string): string {
  return `${shard} lacks the column "${name}" (${type})${ofPartition(path)}: bring both shards to the same migrations`;
}
