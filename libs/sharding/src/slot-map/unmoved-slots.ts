import { parseSlots, printSlots, SLOT_COUNT } from '@app/routing';
import type { MappedShard, MapVersion, VerifiedMove } from './mapped-shard.js';

/** Slots of a group with another owner than before; undefined: nobody. */
export interface UnmovedSlots {
  readonly group: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly slots: readonly number[];
}

type Owners = readonly (string | undefined)[];

/** What became of the slot map, in order: what was recorded of it, the moves, what it is to be. */
export interface MapHistory {
  /** Newest first. */
  readonly versions: readonly MapVersion[];
  /** In the order in which they were verified. */
  readonly moves: readonly VerifiedMove[];
  readonly current: readonly MappedShard[];
}

/**
 * The slots with another owner than in the newest version, less those whose rows verified moves have brought there, by group
 * and pair of owners. Of a group that is new none: nobody had them before.
 */
export function slotsWithoutMove(history: MapHistory): UnmovedSlots[] {
  const known = history.versions[0]?.shards ?? [];
  const groups = [...new Set(known.map(({ group }) => group))].toSorted((a, b) => a - b);
  return groups.flatMap((group) => {
    const [owners, heirs] = [ownersOf(known, group), ownersOf(history.current, group)];
    const places = placesOfMoved(group, owners, { ...history, heirs });
    const unmoved = new Map<string, UnmovedSlots & { readonly slots: number[] }>();
    for (const [slot, place] of places) {
      const [from, to] = [owners[slot], heirs[slot]];
      if (place === to) continue;
      const pair = JSON.stringify([from, to]);
      const same = unmoved.get(pair);
      if (same) same.slots.push(slot);
      else unmoved.set(pair, { group, from, to, slots: [slot] });
    }
    return [...unmoved.values()];
  });
}

/** `8192-9000 from shard1 to shard0`, for messages. */
export function printUnmoved({ group, from, to, slots }: UnmovedSlots): string {
  const where = group === 0 ? '' : ` of group ${group}`;
  return `${printSlots(slots)}${where} from ${from ?? 'nobody'} to ${to ?? 'nobody'}`;
}

/**
 * Where the rows of each slot that changes its owner are: moves lead from its recorded owner on. Only those count that were
 * verified while it was the owner: an earlier one was followed by rows that were written elsewhere.
 */
function placesOfMoved(
  group: number,
  owners: Owners,
  { versions, moves, heirs }: MapHistory & { readonly heirs: Owners },
): Map<number, string | undefined> {
  const places = new Map<number, string | undefined>();
  for (let slot = 0; slot < SLOT_COUNT; slot++) {
    if (owners[slot] !== heirs[slot]) places.set(slot, owners[slot]);
  }
  const since = ownedSince(group, owners, { versions, slots: [...places.keys()] });
  for (const { source, destination, slots, verifiedAt } of moves.filter((move) => move.group === group)) {
    for (const slot of slotsOf(slots)) {
      if (places.get(slot) === source && verifiedAt > since(slot)) places.set(slot, destination);
    }
  }
  return places;
}

/** When the versions up to the newest, in which a slot has this owner, begin. */
function ownedSince(
  group: number,
  owners: Owners,
  { versions, slots }: { readonly versions: readonly MapVersion[]; readonly slots: readonly number[] },
): (slot: number) => number {
  const since = new Map<number, number>();
  let same = slots;
  for (const { shards, recordedAt } of versions) {
    const then = ownersOf(shards, group);
    same = same.filter((slot) => then[slot] === owners[slot]);
    for (const slot of same) since.set(slot, recordedAt);
    if (same.length === 0) break;
  }
  return (slot) => since.get(slot) ?? Infinity;
}

function ownersOf(shards: readonly MappedShard[], group: number): Owners {
  const owners: (string | undefined)[] = Array.from({ length: SLOT_COUNT });
  for (const shard of shards) {
    if (shard.group === group) for (const slot of slotsOf(shard.slots)) owners[slot] = shard.name;
  }
  return owners;
}

/** Of text that is none, no slots: their owner is then not known. */
function slotsOf(text: string): number[] {
  const { ranges } = parseSlots(text === '' ? [] : text.split(','));
  return ranges.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at));
}
