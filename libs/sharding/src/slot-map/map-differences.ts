import type { MappedShard } from './mapped-shard.js';

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
