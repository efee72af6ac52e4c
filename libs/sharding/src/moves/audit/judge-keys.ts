import { keyRoutes, type KeyRoute } from './key-routes.js';
import { movingKeys } from './open-moves.js';
import { otherHomes } from './other-homes.js';
import { rowsOfKeys } from './key-pages.js';
import { isKeyScoped } from '../tables/key-scoped-tables.js';
import { tableName } from '../tables/moved-table.js';
import type { AuditFinding, KeyHome } from './audit-finding.js';
import type { AuditedTable } from './audited-tables.js';
import type { ShardAudit } from './audit-run.js';

type Placed = Extract<KeyRoute, { shard: string }>;

/** What is wrong with the places of the keys of a table. */
export async function judgeKeys(
  audit: ShardAudit,
  table: AuditedTable,
  keys: readonly string[],
): Promise<AuditFinding[]> {
  const suspects = await suspectsOf(audit, table, keys);
  if (suspects.size === 0) return [];
  const rows = await rowsOfKeys(audit.session, table, [...suspects.keys()]);
  const held = keys.filter((key) => rows.has(key));
  const still = await suspectsOf(audit, table, held); // a route may have changed meanwhile
  const strangers = [...still].filter(([, route]) => route.shard !== undefined).map(([key]) => key);
  const others = await otherHomes(audit, audit.shard, strangers);
  return [...still].map(([key, route]) => {
    const place = { shard: audit.shard, table: tableName(table), key, rows: rows.get(key) ?? 0 };
    if (route.shard === undefined) return unroutable(place, route);
    return stranger({ ...place, routedTo: route.shard }, others.homes.get(key) ?? [], {
      leaves: audit.fleet.topology.byName(audit.shard).group !== route.group,
      silent: others.silent,
    });
  });
}

/** Keys that are routed elsewhere, or nowhere, and are not on their way. */
async function suspectsOf(
  audit: ShardAudit,
  table: AuditedTable,
  keys: readonly string[],
): Promise<Map<string, KeyRoute>> {
  const { fleet, control, terms, shard } = audit;
  const texts = isKeyScoped(table) ? ({ texts: 'keys' } as const) : {};
  const routes = await keyRoutes({ fleet, control, keyKind: terms.keyKind, ...texts }, keys);
  const suspects = new Map([...routes].filter(([, route]) => route.shard !== shard));
  const placed = [...suspects].filter((each): each is [string, Placed] => each[1].shard !== undefined);
  const moving = await movingKeys(
    control,
    shard,
    placed.map(([key, { slot }]) => ({ key, slot })),
  );
  for (const key of moving) suspects.delete(key);
  return suspects;
}

type Place = Pick<AuditFinding, 'shard' | 'table' | 'key' | 'rows'>;

function unroutable(
  place: Place,
  { problem, remedy }: Extract<KeyRoute, { shard: undefined }>,
): AuditFinding {
  return { kind: 'unroutable', severity: 'error', ...place, message: `the key ${problem}`, remedy };
}

interface Circumstances {
  /** The key belongs to another group. */
  readonly leaves: boolean;
  readonly silent: readonly string[];
}

function stranger(
  place: Place & { readonly routedTo: string },
  homes: readonly KeyHome[],
  { leaves, silent }: Circumstances,
): AuditFinding {
  const routed = `routed to ${place.routedTo}${leaves ? ', of another group' : ''}`;
  const unasked = silent.length > 0 ? { unasked: silent } : {};
  const unknown = silent.length > 0 ? `; ${silent.join(', ')} could not be asked` : '';
  if (homes.length === 0) {
    const remedy = leaves
      ? 'rows never leave their group by themselves: decide where they may be, then pin or place the key'
      : 'shardctl repair moves them there, or pin the key to this shard';
    return {
      kind: 'misplaced',
      severity: 'error',
      ...place,
      ...unasked,
      message: `the key is ${routed}${unknown}`,
      remedy,
    };
  }
  const there = homes.map(({ shard, rows }) => `${rows} on ${shard}`).join(', ');
  return {
    kind: 'two_homes',
    severity: 'error',
    ...place,
    homes,
    ...unasked,
    message: `the key is ${routed}, and has rows on several shards, of all tables: ${there}${unknown}`,
    remedy:
      'shardctl repair deletes these where the right shard has the very same; else compare them and decide',
  };
}
