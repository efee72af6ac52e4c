import { listOf } from './list-of.js';
import { listNames } from './quote.js';
import { parseSlots, printSlots, type SlotRange, type SlotSpec } from './slot-ranges.js';
import { SLOT_COUNT } from './slot.js';

/** A shard of one group as the slot map sees it; `label` is how messages call it. */
export interface SlotClaim {
  readonly label: string;
  readonly slots: readonly SlotSpec[] | undefined;
}

/** Who owns each slot of one group, as positions in the list of claims (-1: nobody), and everything wrong with it. */
export interface SlotMap {
  readonly owners: Int32Array;
  /** Whether the map follows from the number of shards because none declares slots. */
  readonly autoSplit: boolean;
  readonly problems: readonly string[];
}

/** The position, in declaration order, of the shard that owns the slot when no shard declares slots. */
export function autoSplit(slot: number, shards: number): number {
  return Math.floor((slot * shards) / SLOT_COUNT);
}

/**
 * The slot map of one group: the automatic split when no shard declares slots, else what they declare, which must cover
 * every slot exactly once.
 */
export function resolveSlotMap(claims: readonly SlotClaim[]): SlotMap {
  const silent = claims.filter((claim) => claim.slots === undefined);
  if (silent.length === claims.length) return splitAutomatically(claims.length);
  const { owners, problems } = claimSlots(claims);
  if (silent.length > 0) {
    const labels = listNames(silent.map((claim) => claim.label));
    problems.push(`either every shard must declare slots or none may; without slots: ${labels}`);
  } else {
    problems.push(...unassignedProblem(owners));
  }
  return { owners, autoSplit: false, problems };
}

function splitAutomatically(shards: number): SlotMap {
  const owners = Int32Array.from({ length: SLOT_COUNT }, (_, slot) => autoSplit(slot, shards));
  const problems =
    shards > SLOT_COUNT
      ? [`${shards} shards cannot share ${SLOT_COUNT} slots; declare slots for each shard`]
      : [];
  return { owners, autoSplit: true, problems };
}

function claimSlots(claims: readonly SlotClaim[]): { owners: Int32Array; problems: string[] } {
  const owners = new Int32Array(SLOT_COUNT).fill(-1);
  const problems: string[] = [];
  for (const [position, { label, slots }] of claims.entries()) {
    if (slots === undefined) continue;
    if (!Array.isArray(slots)) {
      problems.push(`${label}: slots must be a list such as ["0-8191", 9000]`);
      continue;
    }
    const parsed = parseSlots(slots);
    problems.push(...parsed.problems.map((problem) => `${label}: ${problem}`));
    for (const [owner, taken] of claimRanges(owners, position, parsed.ranges)) {
      const by = owner === position ? 'listed more than once' : `already owned by ${claims[owner]?.label}`;
      problems.push(`${label}: ${countedSlots(taken)} ${by}`);
    }
  }
  return { owners, problems };
}

/** Claims what is free; returns what was not, by owner. */
function claimRanges(
  owners: Int32Array,
  position: number,
  ranges: readonly SlotRange[],
): Map<number, SlotRange[]> {
  const taken = new Map<number, SlotRange[]>();
  for (const { first, last } of ranges) {
    let slot = first;
    while (slot <= last) {
      const owner = owners[slot] ?? -1;
      const start = slot;
      while (slot <= last && owners[slot] === owner) slot++;
      if (owner === -1) owners.fill(position, start, slot);
      else listOf(taken, owner).push({ first: start, last: slot - 1 });
    }
  }
  return taken;
}

function countedSlots(ranges: readonly SlotRange[]): string {
  const text = printSlots(ranges);
  return /^\d+$/.test(text) ? `slot ${text} is` : `slots ${text} are`;
}

function unassignedProblem(owners: Int32Array): string[] {
  const unassigned: number[] = [];
  for (let slot = 0; slot < SLOT_COUNT; slot++) if (owners[slot] === -1) unassigned.push(slot);
  if (unassigned.length === 0) return [];
  return [`the slots 0..${SLOT_COUNT - 1} must each have an owner; unassigned: ${printSlots(unassigned)}`];
}
