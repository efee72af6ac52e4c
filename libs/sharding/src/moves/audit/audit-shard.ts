import { auditedTables, type AuditedTable } from './audited-tables.js';
import { isServerError } from '../../shards/database-failure.js';
import { isSampled } from './sampled.js';
import { judgeKeys } from './judge-keys.js';
import { leftovers } from './leftovers.js';
import { nextKeys, rowsWithoutKey } from './key-pages.js';
import { orphans } from './doubtful-references.js';
import { reasonOf, type Reached, type ShardAudit } from './audit-run.js';
import { tableName } from '../tables/moved-table.js';
import type { AuditPosition } from './audit-cursor.js';

const PAGE = 1000;

/** @param from where an earlier audit came to on this shard */
export async function auditShard(
  audit: ShardAudit,
  from: AuditPosition | undefined,
  reached: Reached,
): Promise<void> {
  const { shard, session, found, terms } = audit;
  const tables = await auditedTables(session, terms.keyColumn);
  audit.tables.set(shard, tables);
  if (from === undefined) {
    found.add(await leftovers(audit));
    reached({ shard, table: '', key: null });
  }
  const first = tables.findIndex((table) => tableName(table) === from?.table);
  for (const [index, table] of tables.slice(Math.max(0, first)).entries()) {
    const after = first >= 0 && index === 0 ? from?.key : undefined;
    await auditReadable(audit, table, () => auditTable(audit, { table, after }, reached));
  }
}

/** A table that refuses to be read hides no other one. */
async function auditReadable(
  { found, shard }: ShardAudit,
  table: AuditedTable,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isServerError(error) || !REFUSALS.test(codeOf(error))) throw error;
    found.add([
      {
        kind: 'unreachable',
        severity: 'error',
        shard,
        table: tableName(table),
        message: `the table was not looked at: it ${reasonOf(error)}`,
        remedy: 'see that the role may read it, and all of its rows, then audit the shard again',
      },
    ]);
  }
}

/** Syntax, rights and policies, types: of this table, and not of the server. */
const REFUSALS = /^(42|22)/;

const codeOf = (error: unknown) => (error as { readonly code: string }).code;

interface TableStart {
  readonly table: AuditedTable;
  /** Undefined: from the beginning. */
  readonly after: string | null | undefined;
}

async function auditTable(audit: ShardAudit, { table, after }: TableStart, reached: Reached): Promise<void> {
  const { shard, session, found, pace, terms } = audit;
  if (after === undefined && table.nullable) {
    await auditNulls(audit, table);
    reached({ shard, table: tableName(table), key: null });
  }
  const limit = Math.min(PAGE, Math.ceil(terms.throttle ?? PAGE));
  for (let at = after ?? null; ;) {
    const page = await nextKeys(session, table, { after: at, limit });
    if (page.keys.length === 0) return;
    const keys = page.keys.filter((key) => isSampled(key, terms.samplePercent));
    const findings = [
      ...(await judgeKeys(audit, table, keys)),
      ...(await orphans(session, { shard, table }, keys)),
    ];
    at = page.keys.at(-1) ?? at;
    found.add(findings);
    pace.count(keys.length);
    reached({ shard, table: tableName(table), key: at });
    if (page.last) return;
    await pace.wait();
  }
}

async function auditNulls({ session, shard, found }: ShardAudit, table: AuditedTable): Promise<void> {
  const rows = await rowsWithoutKey(session, table);
  if (rows === 0) return;
  found.add([
    {
      kind: 'unroutable',
      severity: 'error',
      shard,
      table: tableName(table),
      rows,
      message: `rows without a key (${table.key.name} is null) belong to nobody`,
      remedy: 'give them a key or delete them, then make the column not null',
    },
  ]);
}
