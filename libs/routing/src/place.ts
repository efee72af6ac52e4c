import type { RoutingKey } from './routing-key.js';
import { ShardIdentifier } from './shard-identifier.js';
import { ShardingError } from './sharding-error.js';
import type { TopologyShard } from './topology-shard.js';
import type { Topology } from './topology.js';

/** A slot of a group: stays true whichever shard owns the slot. */
export interface SlotPlace {
  /** 0..255 */
  readonly group: number;
  /** 0..16383 */
  readonly slot: number;
  /** The key whose slot it is, where that is known: a router may place the key elsewhere than the owner of its slot. */
  readonly key?: RoutingKey;
}

/** Where a row lives, as its id or its values say it: on a shard by its identifier, or wherever its slot is. */
export type Place = ShardIdentifier | SlotPlace;

/** What becomes of an identifier that names no shard. */
export type UnregisteredShard = 'error' | 'default';

/** What {@link shardOfPlace} does with an identifier that names no shard. */
export type PlaceOptions =
  | { readonly unregisteredShard?: 'error' }
  | {
      /** Stands in for the missing shard with member 0 of the same group. Rows placed so must be moved when the shard comes. */
      readonly unregisteredShard: 'default';
      /** Called with each stand-in, to log and count it. */
      readonly onDefault: (identifier: ShardIdentifier, standIn: TopologyShard) => void;
    };

/**
 * The shard of a place by the topology alone: the shard that has the identifier, or the owner of the slot. What a router
 * says of the place's key (a pin) is not asked.
 *
 * @throws ShardingError `unregistered_shard` for an identifier that names no shard (see {@link PlaceOptions}) and for a
 *   slot of a group without shards; `invalid_slot` for a slot out of range
 */
export function shardOfPlace(topology: Topology, place: Place, options: PlaceOptions = {}): TopologyShard {
  if (!isIdentifier(place)) return ownerOf(topology, place);
  const { group, member } = place;
  const shard = topology.byIdentifier(group, member);
  if (shard !== undefined) return shard;
  const standIn = options.unregisteredShard === 'default' ? topology.byIdentifier(group, 0) : undefined;
  if (options.unregisteredShard !== 'default' || standIn === undefined) throw unregistered(topology, place);
  options.onDefault(ShardIdentifier.of(group, member), standIn);
  return standIn;
}

/** Whether the place is an identifier, and not a slot. */
export function isIdentifier(place: Place): place is ShardIdentifier {
  return 'member' in place;
}

function ownerOf(topology: Topology, { group, slot }: SlotPlace): TopologyShard {
  if (topology.hasGroup(group)) return topology.shardOfSlot(slot, group);
  throw new ShardingError('unregistered_shard', `group ${group} of the slot has no shards; ${CHECK_SOURCE}`);
}

function unregistered(topology: Topology, { group, member }: ShardIdentifier): ShardingError {
  const missing = topology.hasGroup(group)
    ? `group ${group} has no member ${member}`
    : `group ${group} has no shards`;
  return new ShardingError(
    'unregistered_shard',
    `no shard has the identifier (${group},${member}): ${missing}; ${CHECK_SOURCE}`,
  );
}

const CHECK_SOURCE = 'configure it, or check where the id comes from';
