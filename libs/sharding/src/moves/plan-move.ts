import { assertRoutingKey, ShardingError } from '@app/routing';
import { assertRouted } from './assert-routes.js';
import { keptKeys } from './routes.js';
import { KEY_SCOPED_TABLES } from './tables/key-scoped-tables.js';
import { keyTables } from './tables/key-tables.js';
import { tableName, type MovedTable } from './tables/moved-table.js';
import { movedTables } from './tables/read-tables.js';
import { onBothSides } from './with-mover.js';
import { openMove } from './record/begin-move.js';
import { preflight } from './preflight/preflight.js';
import { renumbered } from './tables/renumbered.js';
import { scopeOf, type MoveRequest, type MoveScope } from './move-request.js';
import type { MoveCall, MoveFleet } from './mover.js';
import type { MoveSession } from './move-session.js';
import type { MoveTerms } from './record/move-record.js';
import type { NewMove } from './record/move-rows.js';

export interface MovePlan {
  readonly move: Omit<NewMove, 'id'>;
  /** What the operator should know and does not stop the move. */
  readonly warnings: readonly string[];
}

type PlanCall = MoveCall & {
  readonly control: MoveSession;
  /** Default: everything that could stop the move is looked at. */
  readonly reads?: 'terms';
};

const FENCE_MS = 30_000;

/**
 * What a request means, checked over all tables. Reads only.
 *
 * @throws ShardingError `move_refused` with all findings; `unknown_shard`, `residency_violation`, `invalid_routing_key`
 */
export async function planMove(request: MoveRequest, fleet: MoveFleet, call: PlanCall): Promise<MovePlan> {
  const { control, signal, watch } = call;
  const scope = scopeOf(request);
  const group = groupOf(request, fleet);
  const terms = await termsOf(request, { fleet, control, scope, group });
  const sides = { source: request.from, destination: request.to, signal, watch };
  if (call.reads !== 'terms') await assertRouted(control, fleet, { ...sides, group, scope, terms });
  return onBothSides(fleet, sides, async (source, destination) => {
    const found = await movedTables(source, { tables: request.tables, ...terms });
    const tables =
      request.ids === 'reassigned' ? await renumbered(destination, found, terms.idColumn) : found;
    const move = { ...sidesOf(request), group, scope, terms, tables, startedBy: request.by };
    if (call.reads === 'terms') return { move, warnings: [] };
    const findings = await preflight({
      source,
      destination,
      tables,
      rows: { scope, keyKind: terms.keyKind, kept: terms.kept },
      names: sidesOf(request),
      idColumn: terms.idColumn,
      ownCopy: terms.reason === 'duplicate' || (await openMove(control, move)) !== undefined,
    });
    const errors = findings.filter(({ severity }) => severity === 'error').map(({ message }) => message);
    if ('slots' in scope) errors.push(...(await leftBehind(source, tables, terms.keyColumn)));
    if (errors.length > 0) throw refused(errors);
    return { move, warnings: findings.map(({ message }) => message) };
  });
}

const sidesOf = ({ from, to }: MoveRequest) => ({ source: from, destination: to });

function groupOf({ from, to }: MoveRequest, { topology }: MoveFleet): number {
  const [source, destination] = [topology.byName(from), topology.byName(to)];
  if (source.group === destination.group) return source.group;
  throw new ShardingError(
    'residency_violation',
    `${from} is in group ${source.group} and ${to} in group ${destination.group}: rows never leave their group`,
  );
}

/** A slot that was moved may get another owner: what stays of it would not be found there. */
async function leftBehind(
  source: MoveSession,
  tables: readonly MovedTable[],
  keyColumn: string,
): Promise<string[]> {
  const moved = new Set(tables.map(tableName));
  const all = (await keyTables(source, keyColumn, KEY_SCOPED_TABLES)).map(tableName);
  const left = all.filter((name) => !moved.has(name));
  if (left.length === 0) return [];
  return [
    `slots move with all their tables, and ${left.join(', ')} would stay: name no tables, or these too`,
  ];
}

interface TermParts {
  readonly fleet: MoveFleet;
  readonly control: MoveSession;
  readonly scope: MoveScope;
  readonly group: number;
}

async function termsOf(request: MoveRequest, parts: TermParts): Promise<MoveTerms> {
  const { keyColumn = 'tenant_id', keyKind = 'text', fenceMs = FENCE_MS, reason, idColumn } = request;
  const { fleet, control, scope, group } = parts;
  if ('keys' in scope) for (const key of scope.keys) assertKey(key, keyKind);
  const kept = await keptKeys(control, fleet, { group, scope, keyKind });
  const writes = reason === undefined ? (request.writes ?? 'operator') : 'operator'; // a repair has tombstones instead
  const throttle = request.throttle ?? null;
  const optional = { ...(reason !== undefined && { reason }), ...(idColumn !== undefined && { idColumn }) };
  return { keyColumn, keyKind, writes, fenceMs, throttle, kept, ...optional };
}

const INTEGER = /^(0|-?[1-9]\d{0,18})$/;

/** @throws ShardingError `invalid_routing_key` */
function assertKey(key: string, kind: MoveTerms['keyKind']): void {
  if (kind === 'integer' && !INTEGER.test(key)) {
    throw new ShardingError(
      'invalid_routing_key',
      `${JSON.stringify(key)} is no integer as the key column has them`,
    );
  }
  assertRoutingKey(kind === 'integer' ? BigInt(key) : key);
}

function refused(findings: readonly string[]): ShardingError {
  const [only] = findings;
  if (findings.length === 1 && only) return new ShardingError('move_refused', only);
  const list = findings.map((finding) => `\n- ${finding}`).join('');
  return new ShardingError('move_refused', `${findings.length} things are in the way:${list}`);
}
