import { isRecord } from './option-problems.js';

/**
 * `overlay` laid over `base`: tables merge key by key, values and lists replace, and what is `undefined` leaves the base
 * alone. Shards merge by name: an entry with a known name changes that shard, a new name appends a shard.
 */
export function layOver(
  base: Record<string, unknown>,
  overlay: Record<string, unknown>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    if (value === undefined) continue;
    const below = merged[key];
    if (isRecord(below) && isRecord(value)) merged[key] = layOver(below, value);
    else if (key === 'shards' && isShardList(below) && Array.isArray(value))
      merged[key] = layShards(below, value);
    else merged[key] = value;
  }
  return merged;
}

/** As opposed to the migrations of the shards. */
function isShardList(value: unknown): value is unknown[] {
  return Array.isArray(value) && !value.some((entry) => ['string', 'function'].includes(typeof entry));
}

/** Each entry changes one shard of the base at most: a name that the overlay repeats stays a mistake to be reported. */
function layShards(base: readonly unknown[], overlay: readonly unknown[]): unknown[] {
  const merged = [...base];
  const changed = new Set<number>();
  for (const entry of overlay) {
    const index = base.findIndex((below, place) => !changed.has(place) && isNamed(below, nameOf(entry)));
    const below = merged[index];
    if (isRecord(below) && isRecord(entry)) {
      changed.add(index);
      merged[index] = layOver(below, entry);
    } else {
      merged.push(entry);
    }
  }
  return merged;
}

function nameOf(entry: unknown): unknown {
  return isRecord(entry) ? entry['name'] : undefined;
}

function isNamed(entry: unknown, name: unknown): boolean {
  return name !== undefined && nameOf(entry) === name;
}
