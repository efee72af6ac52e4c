import { tableName, type MovedTable } from './moved-table.js';

/** A table of the framework whose rows belong to a routing key. */
export interface KeyScopedTable {
  readonly name: string;
  /** Text, also of keys that are integers; null: the row belongs to no key, and stays. */
  readonly keyColumn: string;
}

/**
 * They move with every move of their keys, whatever tables of the application it names: what was done once is done once at the
 * destination too. Events and parts of actions belong to the shard that they were committed on, and stay.
 */
export const KEY_SCOPED_TABLES: readonly KeyScopedTable[] = [
  '_sharding_inbox',
  '_sharding_action_ledger',
  '_sharding_saga',
  '_sharding_idempotency',
].map((name) => ({ name, keyColumn: 'routing_key' }));

const NAMES = new Set(KEY_SCOPED_TABLES.map(({ name }) => name));

/** No table of the application has such a name: moves refuse it. */
export function isKeyScoped({ name }: Pick<MovedTable, 'name'>): boolean {
  return NAMES.has(name);
}

/** What a request names of the tables of a move: those of the framework come by themselves. */
export function requestedTables(tables: readonly MovedTable[]): string[] {
  return tables.filter((table) => !isKeyScoped(table)).map(tableName);
}
