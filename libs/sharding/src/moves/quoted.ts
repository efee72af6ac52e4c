import pg from 'pg';
import type { MovedTable } from './tables/moved-table.js';

/** The one way by which a name gets into a statement. Names come from the catalog. */
export function quotedTable({ schema, name }: Pick<MovedTable, 'schema' | 'name'>): string {
  return `${quoted(schema)}.${quoted(name)}`;
}

export function quoted(name: string): string {
  return pg.escapeIdentifier(name);
}

export function columnList(names: readonly string[]): string {
  return names.map(quoted).join(', ');
}
