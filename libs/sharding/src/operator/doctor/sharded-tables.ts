import { indexFacts, type IndexFacts } from './catalog/index-facts.js';
import { tableFacts, type TableFacts } from './catalog/table-facts.js';
import type { Look } from './look.js';
import type { Place } from '../place.js';

/** Tables of a shard with their indexes. */
export interface IndexedTables {
  readonly tables: readonly TableFacts[];
  readonly indexes: readonly IndexFacts[];
}

/** Of the primary of a shard. */
export function readIndexedTables(place: Place, look: Look): Promise<IndexedTables> | undefined {
  if (place.role !== 'primary' || place.shard === undefined) return undefined;
  return Promise.resolve(look.read(tableFacts)).then(async (tables) => ({
    tables,
    indexes: await look.read(indexFacts),
  }));
}

/** The names of tables that have the tenant column. */
export function shardedNames(tables: readonly TableFacts[], tenantColumn: string): Set<string> {
  return new Set(tables.filter(({ columns }) => columns.includes(tenantColumn)).map(({ name }) => name));
}
