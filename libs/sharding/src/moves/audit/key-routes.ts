import { routingKeyProblem, slotOf, type RoutingKey } from '@app/routing';
import { isTextOf } from '../preflight/judge/key-texts.js';
import { quoted } from '../quoted.js';
import { reading } from './reading.js';
import type { KeyKind } from '../move-request.js';
import type { MoveFleet } from '../mover.js';
import type { MoveSession } from '../move-session.js';
import type { PinnedKey } from '../routes.js';

/** Where a key is routed; or why it is nowhere. */
export type KeyRoute =
  | { readonly shard: string; readonly group: number; readonly slot: number }
  | { readonly shard: undefined; readonly problem: string; readonly remedy: string };

/** `_sharding_directory` and the router that asks it refuse longer keys. */
const MAX_KEY_BYTES = 255;

export interface RouteQuestion {
  readonly fleet: MoveFleet;
  readonly control: MoveSession;
  readonly keyKind: KeyKind;
  /** Where keys are integers: whether other texts are keys too, as in tables of the framework. Default: no. */
  readonly texts?: 'keys';
}

/** By the directory as it is on the control database now, the groups and the slot map of the configuration. */
export async function keyRoutes(
  { fleet, control, keyKind, texts }: RouteQuestion,
  keys: readonly string[],
): Promise<Map<string, KeyRoute>> {
  const pinnable = fleet.directory === 'obeyed' && keyKind === 'text';
  const pins = pinnable && keys.length > 0 ? await pinsOf(control, keys) : new Map<string, PinnedKey>();
  return new Map(keys.map((key) => [key, routeOf(key, { pin: pins.get(key), fleet, keyKind, texts })]));
}

async function pinsOf(
  control: MoveSession,
  keys: readonly string[],
): Promise<ReadonlyMap<string, PinnedKey>> {
  const { rows } = await reading(control, () =>
    control.client.query<PinnedKey>(
      `select routing_key as key, shard_name as shard, group_id as "group"
      from ${quoted(control.schema)}._sharding_directory where routing_key = any ($1::text[])`,
      [keys],
    ),
  );
  return new Map(rows.map((pin) => [pin.key, pin]));
}

interface Facts {
  readonly pin: PinnedKey | undefined;
  readonly fleet: MoveFleet;
  readonly keyKind: KeyKind;
  readonly texts: RouteQuestion['texts'];
}

function routeOf(key: string, facts: Facts): KeyRoute {
  const routed = facts.keyKind === 'integer' ? (integer(key) ?? (facts.texts && key)) : key;
  const problem = routed === undefined ? 'is no integer, and is routed as one' : refusal(routed, facts);
  if (routed === undefined || problem !== undefined) {
    return nowhere(problem ?? '', 'see what wrote them; give the rows a key that can be routed');
  }
  try {
    return placed(routed, facts, facts.fleet.groupOf?.(routed));
  } catch {
    return nowhere('has no group: groupOf of the application fails for it', 'correct groupOf, or the key');
  }
}

function integer(key: string): bigint | undefined {
  const isInteger = isTextOf(key, { name: 'int8', type: 'bigint' });
  return isInteger ? BigInt(key) : undefined;
}

function refusal(routed: RoutingKey, { fleet, keyKind }: Facts): string | undefined {
  if (routingKeyProblem(routed) !== undefined) return 'is no routing key';
  if (fleet.directory === 'ignored' || keyKind === 'integer') return undefined;
  if (Buffer.byteLength(String(routed)) <= MAX_KEY_BYTES) return undefined;
  return `is longer than ${MAX_KEY_BYTES} bytes, which the directory refuses`;
}

/** What the directory's router would say. */
function placed(routed: RoutingKey, { pin, fleet: { topology } }: Facts, stated?: number): KeyRoute {
  const group = stated ?? pin?.group ?? 0;
  if (!topology.hasGroup(group)) {
    return nowhere(
      `belongs to group ${group}, which has no shards`,
      'add the shards of the group, or correct the row of the key',
    );
  }
  const slot = slotOf(routed);
  const obeyed = pin?.group == null || pin.group === group;
  if (pin?.shard != null && obeyed) {
    if (!topology.has(pin.shard)) {
      return nowhere(`is pinned to ${JSON.stringify(pin.shard)}, which is no shard`, 'correct the pin');
    }
    if (topology.byName(pin.shard).group === group) return { shard: pin.shard, group, slot };
  }
  return { shard: topology.shardOfSlot(slot, group).name, group, slot };
}

function nowhere(problem: string, remedy: string): KeyRoute {
  return { shard: undefined, problem, remedy };
}
