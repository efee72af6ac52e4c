import { isRecord } from './option-problems.js';

/**
 * `overlay` laid over `base`: tables merge key by key, values and lists replace. Shards merge by name: an entry with a
 * known name changes that shard, a new name appends a shard.
 */
export function layOver(
  base: Record<string, unknown>,
  overlay: Record<string, unknown>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const below = merged[key];
    if (isRecord(below) && isRecord(value)) merged[key] = layOver(below, value);
    else if (key === 'shards' && Array.isArray(below) && Array.isArray(value))
      merged[key] = layShards(below, value);
    else merged[key] = value;
  }
  return merged;
}

function layShards(base: readonly unknown[], overlay: readonly unknown[]): unknown[] {
  const merged = [...base];
  for (const entry of overlay) {
    const index = merged.findIndex(
      (below) => isRecord(below) && isRecord(entry) && below['name'] === entry['name'],
    );
    const below = merged[index];
    if (isRecord(below) && isRecord(entry)) merged[index] = layOver(below, entry);
    else merged.push(entry);
  }
  return merged;
}
