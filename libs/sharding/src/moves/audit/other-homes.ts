import { auditedTables } from './audited-tables.js';
import { onShard, type AuditRun } from './audit-run.js';
import { rowsOfKeys } from './key-pages.js';
import type { KeyHome } from './audit-finding.js';

export interface OtherHomes {
  /** By key; of all tables together. */
  readonly homes: ReadonlyMap<string, readonly KeyHome[]>;
  /** Shards that could not be asked. */
  readonly silent: readonly string[];
}

/** Where else the keys have rows: every other shard is asked, also those that are not looked at. */
export async function otherHomes(run: AuditRun, shard: string, keys: readonly string[]): Promise<OtherHomes> {
  const homes = new Map<string, KeyHome[]>();
  const others = run.fleet.topology.shards.map(({ name }) => name).filter((name) => name !== shard);
  for (const other of keys.length > 0 ? others : []) {
    for (const [key, rows] of await rowsOn(run, other, keys)) {
      const known = homes.get(key) ?? [];
      homes.set(key, [...known, { shard: other, rows }]);
    }
  }
  return { homes, silent: others.filter((other) => run.silent.has(other)) };
}

async function rowsOn(run: AuditRun, shard: string, keys: readonly string[]): Promise<Map<string, number>> {
  if (run.silent.has(shard)) return new Map();
  try {
    return await onShard(run, shard, async (session) => {
      const tables = run.tables.get(shard) ?? (await auditedTables(session, run.terms.keyColumn));
      run.tables.set(shard, tables);
      const sums = new Map<string, number>();
      for (const table of tables) {
        const counts = await rowsOfKeys(session, table, keys);
        for (const [key, rows] of counts) sums.set(key, (sums.get(key) ?? 0) + rows);
      }
      return sums;
    });
  } catch (error) {
    if (run.signal.aborted) throw error;
    run.silent.add(shard);
    return new Map();
  }
}
