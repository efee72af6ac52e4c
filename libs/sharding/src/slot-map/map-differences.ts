import { parseSlots, printSlots, SLOT_COUNT } from '@app/routing';
import type { MappedShard, VerifiedMove } from './mapped-shard.js';

/** Slots of a group with another owner than before; undefined: nobody. */
export interface UnmovedSlots {
  readonly group: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly slots: readonly number[];
}

/** What differs between two slot maps, by the names of the shards. */
export interface MapDifferences {
  readonly added: readonly MappedShard[];
  readonly removed: readonly MappedShard[];
  /** Same name, other group or member: ids made before name another shard now. */
  readonly identifiers: readonly (readonly [before: MappedShard, after: MappedShard])[];
  /** Same name, other slots. */
  readonly ranges: readonly (readonly [before: MappedShard, after: MappedShard])[];
  /** Same name, and the member that it did not have: no id carries one yet. */
  readonly numbered: readonly MappedShard[];
}

/** The order of the shards makes no difference, and neither does whether the slots are declared. */
export function mapDifferences(
  before: readonly MappedShard[],
  after: readonly MappedShard[],
): MapDifferences {
  const known = new Map(before.map((shard) => [shard.name, shard]));
  const names = new Set(after.map(({ name }) => name));
  const both = after.flatMap((shard) => {
    const old = known.get(shard.name);
    return old ? [[old, shard] as const] : [];
  });
  const added = after.filter(({ name }) => !known.has(name));
  const removed = before.filter(({ name }) => !names.has(name));
  const identifiers = both.filter(([old, now]) => isRenumbered(old, now));
  const ranges = both.filter(([old, now]) => old.slots !== now.slots);
  const numbered = both.flatMap(([old, now]) => (isNumbered(old, now) ? [now] : []));
  return { added, removed, identifiers, ranges, numbered };
}

function isRenumbered(before: MappedShard, after: MappedShard): boolean {
  return before.group !== after.group || (before.member !== null && before.member !== after.member);
}

function isNumbered(before: MappedShard, after: MappedShard): boolean {
  return before.group === after.group && before.member === null && after.member !== null;
}

/**
 * The slots with another owner, less those that were moved whole, by group and pair of owners. Of a group that is new
 * none: nobody had them before.
 */
export function slotsWithoutMove(
  before: readonly MappedShard[],
  after: readonly MappedShard[],
  verified: readonly VerifiedMove[],
): UnmovedSlots[] {
  const settled = settledSlots(verified);
  const groups = [...new Set(before.map(({ group }) => group))].toSorted((a, b) => a - b);
  return groups.flatMap((group) => {
    const [owners, heirs] = [ownersOf(before, group), ownersOf(after, group)];
    const moved = new Map<
      string,
      { group: number; from: string | undefined; to: string | undefined; slots: number[] }
    >();
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const [from, to] = [owners[slot], heirs[slot]];
      if (from === to) continue;
      const pair = pairOf(group, from, to);
      if (settled.get(pair)?.has(slot)) continue;
      const known = moved.get(pair);
      if (known) known.slots.push(slot);
      else moved.set(pair, { group, from, to, slots: [slot] });
    }
    return [...moved.values()];
  });
}

/** `8192-9000 from shard1 to shard0`, for messages. */
export function printUnmoved({ group, from, to, slots }: UnmovedSlots): string {
  const where = group === 0 ? '' : ` of group ${group}`;
  return `${printSlots(slots)}${where} from ${from ?? 'nobody'} to ${to ?? 'nobody'}`;
}

function ownersOf(shards: readonly MappedShard[], group: number): (string | undefined)[] {
  const owners: (string | undefined)[] = Array.from({ length: SLOT_COUNT });
  for (const shard of shards) {
    if (shard.group === group) for (const slot of slotsOf(shard.slots)) owners[slot] = shard.name;
  }
  return owners;
}

function settledSlots(moves: readonly VerifiedMove[]): Map<string, Set<number>> {
  const settled = new Map<string, Set<number>>();
  for (const { group, source, destination, slots } of moves) {
    const pair = pairOf(group, source, destination);
    settled.set(pair, new Set([...(settled.get(pair) ?? []), ...slotsOf(slots)]));
  }
  return settled;
}

/** Of text that is none, no slots: their owner is then not known. */
function slotsOf(text: string): number[] {
  const { ranges } = parseSlots(text === '' ? [] : text.split(','));
  return ranges.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at));
}

function pairOf(group: number, from: string | undefined, to: string | undefined): string {
  return JSON.stringify([group, from, to]);
}
