import { printSlots } from '@app/routing';
import { mapDifferences } from '../../slot-map/map-differences.js';
import { passedIdentifiers } from '../../slot-map/passed-identifiers.js';
import { slotsWithoutMove, type MapHistory, type UnmovedSlots } from '../../slot-map/unmoved-slots.js';
import type { MappedShard, MapVersion, VerifiedMove } from '../../slot-map/mapped-shard.js';

/** What ids of a shard carry. */
export interface MappedIdentifier {
  readonly group: number;
  readonly member: number | null;
}

/** Slots of a group with another owner than before; null: nobody. */
export interface SlotChange {
  readonly group: number;
  readonly from: string | null;
  readonly to: string | null;
  /** In compact form, `"0-8191, 9000"`. */
  readonly slots: string;
  /** Whether verified moves have brought the rows of all of them there. */
  readonly verified: boolean;
}

/** What a slot map has otherwise than the version before, by the names of the shards. */
export interface MapChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Same name, other identifier. */
  readonly identifiers: readonly {
    readonly shard: string;
    readonly from: MappedIdentifier;
    readonly to: MappedIdentifier;
  }[];
  /** Same identifier, other name than the last that had it; with all its slots at once it was renamed. */
  readonly passed: readonly (MappedIdentifier & {
    readonly from: string;
    readonly to: string;
    readonly renamed: boolean;
  })[];
  /** Shards that had no member before. */
  readonly numbered: readonly string[];
  readonly slots: readonly SlotChange[];
}

/** Compares a map with what is recorded; before the first version every shard is new. */
export function mapChanges(history: MapHistory): MapChanges {
  const { versions, current } = history;
  const { added, removed, identifiers, numbered } = mapDifferences(versions[0]?.shards ?? [], current);
  return {
    added: added.map(nameOf),
    removed: removed.map(nameOf),
    identifiers: identifiers.map(([old, now]) => ({
      shard: now.name,
      from: identifier(old),
      to: identifier(now),
    })),
    passed: passedIdentifiers(versions, current).map(({ from, to, isRename }) => ({
      ...identifier(to),
      from: from.name,
      to: to.name,
      renamed: isRename,
    })),
    numbered: numbered.map(nameOf),
    slots: slotChanges(history),
  };
}

/** A recorded slot map and what was new in it; null of the oldest one. */
export interface RecordedMap {
  readonly version: MapVersion;
  readonly changes: MapChanges | null;
}

/** The changes of each version, in the order of `versions`, newest first. */
export function historyOf(versions: readonly MapVersion[], moves: readonly VerifiedMove[]): RecordedMap[] {
  return versions.map((version, index) => {
    const before = versions.slice(index + 1);
    if (before.length === 0) return { version, changes: null };
    const until = moves.filter(({ verifiedAt }) => verifiedAt <= version.recordedAt);
    return { version, changes: mapChanges({ versions: before, moves: until, current: version.shards }) };
  });
}

export function isUnchanged({ added, removed, identifiers, numbered, slots }: MapChanges): boolean {
  return [added, removed, identifiers, numbered, slots].every((list) => list.length === 0);
}

/** Whether ids that were made before name another database now. */
export function changesIdentifiers({ identifiers, passed }: MapChanges): boolean {
  return identifiers.length > 0 || passed.some(({ renamed }) => !renamed);
}

function slotChanges(history: MapHistory): SlotChange[] {
  const unmoved = new Map(slotsWithoutMove(history).map((part) => [pairOf(part), part.slots]));
  return slotsWithoutMove({ ...history, moves: [] }).flatMap((all) => {
    const left = new Set(unmoved.get(pairOf(all)));
    return [
      ...slotChange(all, { slots: all.slots.filter((slot) => left.has(slot)), verified: false }),
      ...slotChange(all, { slots: all.slots.filter((slot) => !left.has(slot)), verified: true }),
    ];
  });
}

interface Part {
  readonly slots: readonly number[];
  readonly verified: boolean;
}

function slotChange({ group, from, to }: UnmovedSlots, { slots, verified }: Part): SlotChange[] {
  if (slots.length === 0) return [];
  return [{ group, from: from ?? null, to: to ?? null, slots: printSlots(slots), verified }];
}

const nameOf = ({ name }: MappedShard) => name;
const identifier = ({ group, member }: MappedShard): MappedIdentifier => ({ group, member });
const pairOf = ({ group, from, to }: UnmovedSlots) => JSON.stringify([group, from, to]);
