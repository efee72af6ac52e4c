import { ShardedUuid, ShardingError, SlotUuid, slotOf } from '@app/routing';
import { failureOf } from './failure.js';
import type { RoutingKey, Topology, TopologyShard } from '@app/routing';
import type { Failure } from './failure.js';

/** What the directory says of a key. */
export interface PinFound {
  readonly shard: string | undefined;
  readonly group: number | undefined;
}

/** What a key is placed by. */
export interface PlacementRules {
  readonly topology: Topology;
  /** The group that the application's `groupOf` would say; absent: it says nothing. */
  readonly group?: number | undefined;
}

export type KeyKind = 'text' | 'integer' | 'sharded_uuid' | 'slot_uuid';

/**
 * - `hash`: the slot map of group 0, or of `--group`
 * - `pin`: the directory names the shard
 * - `placed`: the directory names the group, and its slot map the shard
 * - `id`: the bits of the id
 */
export type PlacementReason = 'hash' | 'pin' | 'placed' | 'id';

/** Where the rows of one key are, and why. */
export interface Placement {
  readonly key: string;
  readonly kind: KeyKind;
  readonly slot: number | null;
  readonly group: number | null;
  /** Of an id that names its shard. */
  readonly member: number | null;
  readonly shard: string | null;
  readonly reason: PlacementReason;
  /** What else the operator should know. */
  readonly note: string | null;
  /** Shards that keys of an id's slot are pinned to: the row may be on one of them. */
  readonly also: readonly string[];
  /** By the id itself, ISO 8601. */
  readonly created_at: string | null;
  readonly error: Failure | null;
}

/** The directory's limit, of which a route is refused too. */
const MAX_KEY_BYTES = 255;

/** One key of the command line. */
export interface AskedKey {
  /** As it was written. */
  readonly text: string;
  readonly kind: KeyKind;
  readonly value: RoutingKey;
}

/** Places a key as `DirectoryRouter` does, or without `pins` as `HashRouter` does. */
export function placeKey(
  { text, kind, value }: AskedKey,
  rules: PlacementRules,
  directory?: { readonly pin: PinFound | undefined },
): Placement {
  const slot = slotOf(value);
  const found = directory ? obey(directory.pin, rules) : { group: rules.group ?? 0, reason: 'hash' as const };
  const { group, reason } = found;
  const note = 'note' in found ? found.note : null;
  const placed = { key: text, kind, ...NOTHING, slot, group, reason, note };
  return settled(placed, () => {
    if (directory && Buffer.byteLength(text) > MAX_KEY_BYTES) throw tooLong();
    if ('missing' in found) throw notConfigured(found.missing);
    return 'shard' in found
      ? rules.topology.byName(found.shard)
      : rules.topology.shardOfSlot(slot, found.group);
  });
}

/** Places the id of a row by its bits. @param pinnedOf the shards that keys of a slot are pinned to */
export function placeId(
  { text, kind }: AskedKey,
  { topology }: PlacementRules,
  pinnedOf: (slot: number) => readonly string[] = () => [],
): Placement {
  const base = { key: text, kind, ...NOTHING, reason: 'id' as const };
  if (kind === 'sharded_uuid') {
    const { group, member } = ShardedUuid.identifier(text);
    const created_at = ShardedUuid.timestamp(text).toISOString();
    return settled({ ...base, group, member, created_at }, () => byIdentifier(topology, group, member));
  }
  const slot = SlotUuid.slot(text);
  const group = SlotUuid.group(text);
  const created_at = SlotUuid.timestamp(text).toISOString();
  const placement = settled({ ...base, slot, group, created_at }, () => topology.shardOfSlot(slot, group));
  const also = pinnedOf(slot).filter(
    (name) => name !== placement.shard && topology.has(name) && topology.byName(name).group === group,
  );
  return { ...placement, also };
}

const NOTHING = {
  slot: null,
  group: null,
  member: null,
  shard: null,
  reason: 'hash',
  note: null,
  also: [],
  created_at: null,
  error: null,
} as const;

/** The rules of `DirectoryRouter`: what a row cannot say about a key is ignored. */
function obey(pin: PinFound | undefined, { topology, group }: PlacementRules) {
  const elsewhere = (allowed: number, note: string) => ({ group: allowed, reason: 'hash' as const, note });
  if (!pin) return { group: group ?? 0, reason: 'hash' as const };
  if (group !== undefined && pin.group !== undefined && pin.group !== group) {
    return elsewhere(group, `its directory row says group ${pin.group}, which is ignored`);
  }
  const allowed = group ?? pin.group ?? 0;
  if (pin.group !== undefined && !topology.hasGroup(pin.group)) {
    return { group: allowed, reason: 'placed' as const, missing: `group ${pin.group}` };
  }
  if (pin.shard === undefined) return { group: allowed, reason: 'placed' as const };
  if (!topology.has(pin.shard)) {
    return { group: allowed, reason: 'pin' as const, missing: `shard ${JSON.stringify(pin.shard)}` };
  }
  if (topology.byName(pin.shard).group !== allowed) {
    return elsewhere(allowed, `its pin to ${pin.shard} leaves group ${allowed} and is ignored`);
  }
  return { group: allowed, reason: 'pin' as const, shard: pin.shard };
}

/** With the shard, or with why there is none. */
function settled(placement: Placement, find: () => TopologyShard): Placement {
  try {
    return { ...placement, shard: find().name };
  } catch (error) {
    return { ...placement, shard: null, error: failureOf(error) };
  }
}

function notConfigured(what: string): ShardingError {
  return new ShardingError(
    'invalid_pin',
    `its directory row names ${what}, which is not configured: its requests are refused; mend the row`,
  );
}

function byIdentifier(topology: Topology, group: number, member: number): TopologyShard {
  const shard = topology.byIdentifier(group, member);
  if (shard) return shard;
  throw new ShardingError(
    'unregistered_shard',
    `no shard has the identifier (${group},${member}); shardctl topology lists those there are`,
  );
}

function tooLong(): ShardingError {
  return new ShardingError(
    'invalid_routing_key',
    `a routing key of the directory has at most ${MAX_KEY_BYTES} bytes in UTF-8`,
  );
}
