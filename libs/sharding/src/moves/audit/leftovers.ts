import { GUARD_FUNCTION, TRUNCATE_FUNCTION } from '../fence/guard-function.js';
import { keyRoutes } from './key-routes.js';
import { moveLeftovers, type MoveLeftover } from './move-leftovers.js';
import { quoted } from '../quoted.js';
import { reading } from './reading.js';
import { refusedPins, type RefusedPin } from './refused-pins.js';
import { refusesAnything } from '../fence/retire.js';
import type { AuditFinding } from './audit-finding.js';
import type { ShardAudit } from './audit-run.js';

/** What moves have left on a shard. */
export async function leftovers(audit: ShardAudit): Promise<AuditFinding[]> {
  const left = await moveLeftovers(audit.session, audit.control);
  return [
    ...left.map((each) => moveFinding(audit.shard, each)),
    ...(await ownTombstones(
      audit,
      left.map(({ id }) => id),
    )),
    ...(await pinsRefused(audit)),
    ...(await idleTriggers(audit)),
  ];
}

async function pinsRefused(audit: ShardAudit): Promise<AuditFinding[]> {
  const findings: AuditFinding[] = [];
  for await (const pins of refusedPins(audit)) {
    findings.push(...pins.map((pin) => refusedPin(audit.shard, pin)));
  }
  return findings;
}

function refusedPin(shard: string, { key, move }: RefusedPin): AuditFinding {
  return {
    kind: 'leftover',
    leftover: 'refused-pin',
    severity: 'error',
    shard,
    key,
    move,
    message: 'a key is pinned here, and its slot had left by a move before: its writes are refused',
    remedy: 'shardctl repair makes it an exception of its slot',
  };
}

function moveFinding(shard: string, { id, move, fences, refuses, side }: MoveLeftover): AuditFinding {
  const what = [
    ...(fences > 0 ? [`${fences} ${fences === 1 ? 'row' : 'rows'} of _sharding_fence`] : []),
    ...(side ? ['its row of _sharding_move_sides'] : []),
  ].join(' and ');
  const whose = {
    unknown: 'a move that the control database does not know',
    aborted: 'an aborted move',
    purged: 'a move that has ended long ago',
  }[move];
  return {
    kind: 'leftover',
    leftover: 'move',
    severity: refuses ? 'error' : move === 'unknown' ? 'warning' : 'info',
    shard,
    move: id,
    message: `${what} of ${whose}${refuses ? ': writes of its keys are refused here' : ''}`,
    remedy: 'shardctl repair removes it',
  };
}

/** Triggers cost every write a look-up, and nothing is refused. */
async function idleTriggers({ session, control, shard }: ShardAudit): Promise<AuditFinding[]> {
  const guarded = await reading(session, () => guardedTables(session));
  if (guarded.length === 0 || (await reading(session, () => refusesAnything(session)))) return [];
  if (await hasOpenMoves(control, shard)) return [];
  return [
    {
      kind: 'leftover',
      leftover: 'triggers',
      severity: 'warning',
      shard,
      message: `triggers of the fence are on ${guarded.join(', ')}, and refuse nothing`,
      remedy: 'shardctl repair removes them',
    },
  ];
}

async function guardedTables({ client, schema }: ShardAudit['session']): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct format('%s.%s', n.nspname, c.relname) as name
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_class c on c.oid = t.tgrelid
      join pg_namespace n on n.oid = c.relnamespace
    where t.tgparentid = 0 and p.pronamespace = $1::regnamespace and (p.proname ~ $2 or p.proname = $3) order by 1`,
    [quoted(schema), GUARD_FUNCTION, TRUNCATE_FUNCTION],
  );
  return rows.map(({ name }) => name);
}

async function hasOpenMoves(control: ShardAudit['control'], shard: string): Promise<boolean> {
  const { rows } = await reading(control, () =>
    control.client.query(
      `select from ${quoted(control.schema)}._sharding_moves
      where state not in ('purged', 'aborted') and $1 in (source, destination) limit 1`,
      [shard],
    ),
  );
  return rows.length > 0;
}

interface Tombstone {
  readonly subject: string;
  readonly slot: number;
  readonly move: string;
}

const PAGE = 1000;

/** Tombstones of what is routed to this very shard: its tenants cannot write. */
async function ownTombstones(audit: ShardAudit, known: readonly string[]): Promise<AuditFinding[]> {
  const findings: AuditFinding[] = [];
  for (let after = ''; ;) {
    const page = await tombstones(audit, known, after);
    const keys = page.filter(({ subject }) => subject.startsWith('key:'));
    const routes = await keyRoutes(
      { ...audit, keyKind: audit.terms.keyKind },
      keys.map(({ subject }) => subject.slice('key:'.length)),
    );
    for (const tombstone of page) {
      const key = tombstone.subject.startsWith('key:') ? tombstone.subject.slice('key:'.length) : undefined;
      const routed = key === undefined ? ownerOf(audit, tombstone.slot) : routes.get(key)?.shard;
      if (routed === audit.shard) findings.push(ownTombstone(audit.shard, tombstone, key));
    }
    if (page.length < PAGE) return findings;
    after = page.at(-1)?.subject ?? '';
  }
}

function ownerOf({ fleet: { topology }, shard }: ShardAudit, slot: number): string {
  return topology.shardOfSlot(slot, topology.byName(shard).group).name;
}

function ownTombstone(shard: string, { slot, move }: Tombstone, key: string | undefined): AuditFinding {
  const what = key === undefined ? 'a slot' : 'a key';
  return {
    kind: 'leftover',
    leftover: 'own-tombstone',
    severity: 'error',
    shard,
    ...(key === undefined ? { slot } : { key }),
    move,
    message: `${what} that is routed here has left by a move: its writes are refused`,
    remedy: 'move it back (shardctl move-slot), or route it to where it went',
  };
}

async function tombstones(
  { session }: ShardAudit,
  known: readonly string[],
  after: string,
): Promise<Tombstone[]> {
  const { rows } = await reading(session, () =>
    session.client.query<Tombstone>(
      `select subject, slot, move_id::text as move from ${quoted(session.schema)}._sharding_fence
      where state = 'moved' and subject > $1 and move_id <> all ($2::uuid[]) order by subject limit ${PAGE}`,
      [after, known],
    ),
  );
  return rows;
}
