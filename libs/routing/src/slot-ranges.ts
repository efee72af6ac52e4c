import { describeType, quote } from './quote.js';
import { SLOT_COUNT } from './slot.js';

/** One slot (`5`, `"5"`) or an inclusive range (`"0-8191"`); spaces around the numbers are allowed. */
export type SlotSpec = number | string;

/** Slots `first` to `last`, both included. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
}

/** What a list of slot specs means: the ranges in the order written, and what is wrong with the other specs. */
export interface ParsedSlots {
  readonly ranges: readonly SlotRange[];
  readonly problems: readonly string[];
}

/** Reads slot specs; every spec that cannot be read is one problem, the others are still returned. */
export function parseSlots(specs: readonly SlotSpec[]): ParsedSlots {
  const ranges: SlotRange[] = [];
  const problems: string[] = [];
  for (const spec of specs) {
    const parsed = parseSpec(spec);
    if (typeof parsed === 'string') problems.push(parsed);
    else ranges.push(parsed);
  }
  return { ranges, problems };
}

/**
 * The compact form: `"0-8191, 9000"`. Sorted, duplicates removed, neighbours joined; `""` for no slots.
 * Split at the commas it is a list of specs that {@link parseSlots} reads back to the same slots.
 */
export function printSlots(slots: Iterable<number | SlotRange>): string {
  const ranges = Array.from(slots, (slot) => (typeof slot === 'number' ? { first: slot, last: slot } : slot));
  ranges.sort((a, b) => a.first - b.first);
  const joined: { first: number; last: number }[] = [];
  for (const { first, last } of ranges) {
    const previous = joined.at(-1);
    if (previous && first <= previous.last + 1) previous.last = Math.max(previous.last, last);
    else joined.push({ first, last });
  }
  return joined.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

function parseSpec(spec: SlotSpec): SlotRange | string {
  if (typeof spec === 'number') {
    return Number.isInteger(spec) ? checkRange(spec, spec) : `invalid slot ${spec}: ${GRAMMAR}`;
  }
  if (typeof spec !== 'string') return `invalid slot, ${describeType(spec)}: ${GRAMMAR}`;
  const match = /^\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?$/.exec(spec);
  if (!match) return `invalid slot ${quote(spec)}: ${GRAMMAR}`;
  const first = Number(match[1]);
  return checkRange(first, Number(match[2] ?? first));
}

const GRAMMAR = 'write 5, "5" or "0-8191"';

function checkRange(first: number, last: number): SlotRange | string {
  const outside = [first, last].find((slot) => slot < 0 || slot >= SLOT_COUNT);
  if (outside !== undefined) return `slot ${outside} is out of range (slots are 0..${SLOT_COUNT - 1})`;
  if (last < first) return `inverted slot range "${first}-${last}": write "${last}-${first}"`;
  return { first, last };
}
