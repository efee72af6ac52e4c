import { ShardingError } from '@app/routing';
import { quoted } from './quoted.js';
import type { RoutingKey, Topology } from '@app/routing';
import type { KeyKind, MoveScope } from './move-request.js';
import type { MoveSession } from './move-session.js';
import type { MoveFleet } from './mover.js';

/** A routing key of the directory, as it stands there. */
export interface PinnedKey {
  readonly key: string;
  readonly shard: string | null;
  readonly group: number | null;
}

/** Where the keys, or the slots, of a move are routed now: by the name of the shard. */
export type Routes = ReadonlyMap<string, readonly string[]>;

/** What decides where a move's rows belong. */
export interface RouteQuestion {
  readonly group: number;
  readonly scope: MoveScope;
  readonly keyKind: KeyKind;
}

/** By the directory as it is on the control database, and the slot map of the configuration. @throws ShardingError `residency_violation` */
export async function routesOf(
  control: MoveSession,
  fleet: MoveFleet,
  { group, scope, keyKind }: RouteQuestion,
): Promise<Routes> {
  const { topology } = fleet;
  if ('slots' in scope) {
    return byShard(scope.slots, (slot) => topology.shardOfSlot(slot, group).name);
  }
  const pins = keyKind === 'text' ? await pinsOfKeys(control, fleet, scope.keys) : [];
  const byKey = new Map(pins.map((pin) => [pin.key, pin]));
  return byShard(scope.keys, (key) => {
    const routed = keyKind === 'integer' ? BigInt(key) : key;
    const pin = byKey.get(key);
    const stated = fleet.groupOf?.(routed) ?? pin?.group ?? 0;
    if (stated !== group) throw outside(key, stated, group);
    return pinned(topology, group, pin) ?? topology.shardOf(routed as RoutingKey, group).name;
  });
}

/** Keys of whole slots that do not follow the slot map. */
export async function keptKeys(
  control: MoveSession,
  fleet: MoveFleet,
  { scope, keyKind }: RouteQuestion,
): Promise<string[]> {
  if ('keys' in scope || keyKind === 'integer' || fleet.directory === 'ignored') return [];
  const { rows } = await control.client.query<{ key: string }>(
    `select routing_key as key from ${directory(control)}
      where slot = any ($1::int[]) and shard_name is not null order by routing_key collate "C"`,
    [scope.slots],
  );
  return rows.map(({ key }) => key);
}

/** `acme`, `slots 1-3`: at most a few. */
export function printSubjects(subjects: readonly string[]): string {
  const shown = subjects.slice(0, 5).join(', ');
  return subjects.length > 5 ? `${shown} and ${subjects.length - 5} more` : shown;
}

function pinned(topology: Topology, group: number, pin: PinnedKey | undefined): string | undefined {
  if (pin?.shard == null) return undefined;
  if (!topology.has(pin.shard)) {
    throw new ShardingError(
      'invalid_pin',
      `the directory pins ${JSON.stringify(pin.key)} to ${JSON.stringify(pin.shard)}, which is no shard: correct the row`,
    );
  }
  return topology.byName(pin.shard).group === group ? pin.shard : undefined;
}

async function pinsOfKeys(
  control: MoveSession,
  fleet: MoveFleet,
  keys: readonly string[],
): Promise<PinnedKey[]> {
  if (fleet.directory === 'ignored') return [];
  const { rows } = await control.client.query<PinnedKey>(
    `select routing_key as key, shard_name as shard, group_id as "group" from ${directory(control)}
      where routing_key = any ($1::text[])`,
    [keys],
  );
  return rows;
}

function directory({ schema }: MoveSession): string {
  return `${quoted(schema)}._sharding_directory`;
}

function byShard<S extends string | number>(subjects: readonly S[], shardOf: (subject: S) => string): Routes {
  const routes = new Map<string, string[]>();
  for (const subject of subjects) {
    const shard = shardOf(subject);
    const known = routes.get(shard);
    if (known) known.push(String(subject));
    else routes.set(shard, [String(subject)]);
  }
  return routes;
}

function outside(key: string, group: number, asked: number): ShardingError {
  return new ShardingError(
    'residency_violation',
    `routing key ${JSON.stringify(key)} belongs to group ${group}, and the shards are in group ${asked}`,
  );
}
