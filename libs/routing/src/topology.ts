import { listOf } from './list-of.js';
import { listNames, quote } from './quote.js';
import type { RoutingKey } from './routing-key.js';
import { ShardingError } from './sharding-error.js';
import { printSlots } from './slot-ranges.js';
import { SLOT_COUNT, slotOf } from './slot.js';
import type { TopologyShard } from './topology-shard.js';

/** One group of a topology: its shards in declaration order, and the owner of each slot. */
export interface GroupPlacement {
  readonly group: number;
  readonly shards: readonly TopologyShard[];
  readonly owners: readonly TopologyShard[];
  readonly autoSplit: boolean;
}

/**
 * Frozen description of groups, shards and slots; holds no URLs. Made by `createTopology`.
 *
 * Its placements follow from the slot map alone: what a router decides for a key (a directory pin, say) is not visible
 * here. A plain deployment has the one group 0, which is the default everywhere.
 */
export class Topology {
  /** All shards in declaration order. */
  readonly shards: readonly TopologyShard[];
  /** The groups that have shards, ascending. */
  readonly groups: readonly number[];
  /** Whether the slot map of some group follows from the number and order of its shards; see {@link isAutoSplit}. */
  readonly autoSplit: boolean;
  readonly #placements: ReadonlyMap<number, GroupPlacement>;
  readonly #byName: ReadonlyMap<string, TopologyShard>;
  readonly #byIdentifier: ReadonlyMap<string, TopologyShard>;
  /** Slots by shard name, per group; made when first asked for. */
  readonly #slots = new Map<number, ReadonlyMap<string, readonly number[]>>();

  /** @internal use `createTopology`, which checks what it is given */
  constructor(placements: readonly GroupPlacement[]) {
    const shards = placements.flatMap((placement) => placement.shards).toSorted((a, b) => a.index - b.index);
    this.shards = Object.freeze(shards);
    this.groups = Object.freeze(placements.map((placement) => placement.group));
    for (const placement of placements) Object.freeze(placement.shards);
    this.autoSplit = placements.some((placement) => placement.autoSplit);
    this.#placements = new Map(placements.map((placement) => [placement.group, placement]));
    this.#byName = new Map(shards.map((shard) => [shard.name, shard]));
    this.#byIdentifier = new Map(
      shards.flatMap((shard) => (shard.identifier ? [[shard.identifier.toString(), shard] as const] : [])),
    );
    Object.freeze(this);
  }

  /** Whether the slot map of the group follows from the number and order of its shards. */
  isAutoSplit(group = 0): boolean {
    return this.#placement(group).autoSplit;
  }

  /** Whether a shard has that name. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** @throws ShardingError `unknown_shard`, listing the known ones */
  byName(name: string): TopologyShard {
    const shard = this.#byName.get(name);
    if (shard === undefined) {
      throw new ShardingError(
        'unknown_shard',
        `unknown shard ${quote(name)}; known shards: ${this.#names()}`,
      );
    }
    return shard;
  }

  /** Whether the group has shards. */
  hasGroup(group: number): boolean {
    return this.#placements.has(group);
  }

  /**
   * The shards of a group in declaration order, the drained ones too.
   *
   * @throws ShardingError `out_of_topology` for a group without shards
   */
  shardsOfGroup(group: number): readonly TopologyShard[] {
    return this.#placement(group).shards;
  }

  /** The shard with that identifier, if there is one. */
  byIdentifier(group: number, member: number): TopologyShard | undefined {
    return this.#byIdentifier.get(`(${group},${member})`);
  }

  /** {@link slotOf} */
  slotOf(key: RoutingKey): number {
    return slotOf(key);
  }

  /**
   * The owner of a slot.
   *
   * @throws ShardingError `invalid_slot` outside 0..16383, `out_of_topology` for a group without shards
   */
  shardOfSlot(slot: number, group = 0): TopologyShard {
    const owner = this.#placement(group).owners[slot];
    if (owner === undefined) {
      throw new ShardingError(
        'invalid_slot',
        `slot ${quote(slot)} is out of range (slots are 0..${SLOT_COUNT - 1})`,
      );
    }
    return owner;
  }

  /** The owner of the key's slot: the slot map only, not what a router would say. */
  shardOf(key: RoutingKey, group = 0): TopologyShard {
    return this.shardOfSlot(slotOf(key), group);
  }

  /**
   * Whether the key's slot belongs to the shard, within the shard's own group.
   *
   * @throws ShardingError `unknown_shard`, `invalid_routing_key`
   */
  ownsKey(name: string, key: RoutingKey): boolean {
    const shard = this.byName(name);
    return this.shardOf(key, shard.group) === shard;
  }

  /** The slots of the shard, ascending; empty when it is drained. @throws ShardingError `unknown_shard` */
  slotsOfShard(name: string): readonly number[] {
    const { group } = this.byName(name);
    let slots = this.#slots.get(group);
    if (slots === undefined) this.#slots.set(group, (slots = slotsByName(this.#placement(group))));
    return slots.get(name) ?? [];
  }

  /** The slots of the shard in compact form, `"0-8191, 9000"`. @throws ShardingError `unknown_shard` */
  rangesOfShard(name: string): string {
    return printSlots(this.slotsOfShard(name));
  }

  /**
   * The keys by the name of the shard that owns their slot: shards in declaration order, keys in the order given;
   * shards that own none of the keys are absent.
   */
  partitionByShard<K extends RoutingKey>(keys: Iterable<K>, group = 0): Map<string, K[]> {
    const byShard = new Map<TopologyShard, K[]>();
    for (const key of keys) listOf(byShard, this.shardOf(key, group)).push(key);
    const ordered = [...byShard].toSorted(([a], [b]) => a.index - b.index);
    return new Map(ordered.map(([shard, own]) => [shard.name, own]));
  }

  #placement(group: number): GroupPlacement {
    const placement = this.#placements.get(group);
    if (placement === undefined) {
      const groups = this.groups.join(', ');
      throw new ShardingError('out_of_topology', `no shard is in group ${quote(group)}; groups: ${groups}`);
    }
    return placement;
  }

  #names(): string {
    return listNames(this.shards.map((shard) => shard.name));
  }
}

function slotsByName({ owners }: GroupPlacement): ReadonlyMap<string, readonly number[]> {
  const slots = new Map<string, number[]>();
  for (const [slot, owner] of owners.entries()) listOf(slots, owner.name).push(slot);
  for (const list of slots.values()) Object.freeze(list);
  return slots;
}
