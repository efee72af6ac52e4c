import { groupText, mergePartials } from './aggregates.js';
import type { Aggregate, Partial } from './aggregates.js';
import type { KeyType } from '../values/key-type.js';

/** One group, of one shard or of all. */
export interface Group {
  /** Text forms of the group columns; null is a group of its own. */
  readonly key: readonly (string | null)[];
  /** In the order of the aggregates. */
  readonly partials: readonly Partial[];
}

/** What groups are made of. */
export interface GroupForm {
  readonly columns: readonly KeyType[];
  readonly aggregates: readonly Aggregate[];
}

/** The groups of all shards, those with equal keys made one, in the order in which they first occur. */
export function mergeGroups(form: GroupForm, shards: readonly (readonly Group[])[]): Map<string, Group> {
  const merged = new Map<string, Group>();
  for (const groups of shards) {
    for (const group of groups) {
      const id = groupId(group.key, form.columns);
      const known = merged.get(id);
      merged.set(id, known ? joined(form, known, group) : group);
    }
  }
  return merged;
}

/** Equal for keys that PostgreSQL would put into one group: `1.0` and `1.00`, `0` and `-0`. */
export function groupId(key: readonly (string | null)[], columns: readonly KeyType[]): string {
  return JSON.stringify(columns.map((type, index) => groupText(key[index] ?? null, type)));
}

function joined({ aggregates }: GroupForm, a: Group, b: Group): Group {
  const partials = aggregates.map((aggregate, index) =>
    mergePartials(aggregate, a.partials[index] ?? [], b.partials[index] ?? []),
  );
  return { key: a.key, partials };
}
