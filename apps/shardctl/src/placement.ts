import { ShardedUuid, shardOfPlace, SlotUuid, slotOf } from '@app/routing';
import { failureOf } from './failure.js';
import type { RoutingKey, Topology, TopologyShard } from '@app/routing';
import type { KeyAnswer } from './directory-answers.js';
import type { Failure } from './failure.js';

/** What a key is placed by. */
export interface PlacementRules {
  readonly topology: Topology;
  /** The group that the application's `groupOf` would say; absent: it says nothing. */
  readonly group?: number | undefined;
}

export type KeyKind = 'text' | 'integer' | 'sharded_uuid' | 'slot_uuid';

/**
 * - `hash`: the slot map of group 0, or of `--group`
 * - `pin`: the directory names the shard
 * - `placed`: the directory names the group, and its slot map the shard
 * - `id`: the bits of the id
 */
export type PlacementReason = 'hash' | 'pin' | 'placed' | 'id';

/** Where the rows of one key are, and why. */
export interface Placement {
  readonly key: string;
  readonly kind: KeyKind;
  readonly slot: number | null;
  readonly group: number | null;
  /** Of an id that names its shard. */
  readonly member: number | null;
  readonly shard: string | null;
  readonly reason: PlacementReason;
  /** What else the operator should know. */
  readonly note: string | null;
  /** Shards that keys of an id's slot are pinned to: the row may be on one of them. */
  readonly also: readonly string[];
  /** By the id itself, ISO 8601. */
  readonly created_at: string | null;
  readonly error: Failure | null;
}

/** One key of the command line. */
export interface AskedKey {
  /** As it was written. */
  readonly text: string;
  readonly kind: KeyKind;
  readonly value: RoutingKey;
}

/** Places a key as `DirectoryRouter` does, or without `answer` as `HashRouter` does. */
export function placeKey(
  { text, kind, value }: AskedKey,
  rules: PlacementRules,
  answer?: KeyAnswer,
): Placement {
  const slot = slotOf(value);
  const verdict = answer?.row?.verdict;
  const group = verdict?.group ?? rules.group ?? 0;
  return settled({ key: text, kind, ...NOTHING, slot, group, ...told(answer) }, () => {
    if (answer?.refusal) throw answer.refusal;
    return verdict?.shard ?? rules.topology.shardOfSlot(slot, group);
  });
}

/** What a row of the directory cannot say about its key is ignored. */
function told({ row }: Partial<KeyAnswer> = {}): Pick<Placement, 'reason' | 'note'> {
  if (!row) return { reason: 'hash', note: null };
  const { pin, verdict } = row;
  if (verdict.problem === 'outside_group') {
    const note =
      pin.group === undefined || pin.group === verdict.group
        ? `its pin to ${pin.shard} leaves group ${verdict.group} and is ignored`
        : `its directory row says group ${pin.group}, which is ignored`;
    return { reason: 'hash', note };
  }
  const placed = pin.shard === undefined || verdict.problem === 'unknown_group';
  return { reason: placed ? 'placed' : 'pin', note: null };
}

/** Places the id of a row by its bits. @param pinnedOf the shards that keys of a slot are pinned to */
export function placeId(
  { text, kind }: AskedKey,
  { topology }: PlacementRules,
  pinnedOf: (slot: number) => readonly string[] = () => [],
): Placement {
  const base = { key: text, kind, ...NOTHING, reason: 'id' as const };
  if (kind === 'sharded_uuid') {
    const { group, member } = ShardedUuid.identifier(text);
    const created_at = ShardedUuid.timestamp(text).toISOString();
    return settled({ ...base, group, member, created_at }, () =>
      shardOfPlace(topology, ShardedUuid.identifier(text)),
    );
  }
  const slot = SlotUuid.slot(text);
  const group = SlotUuid.group(text);
  const created_at = SlotUuid.timestamp(text).toISOString();
  const placement = settled({ ...base, slot, group, created_at }, () =>
    shardOfPlace(topology, { group, slot }),
  );
  const also = pinnedOf(slot).filter(
    (name) => name !== placement.shard && topology.has(name) && topology.byName(name).group === group,
  );
  return { ...placement, also };
}

const NOTHING = {
  slot: null,
  group: null,
  member: null,
  shard: null,
  reason: 'hash',
  note: null,
  also: [],
  created_at: null,
  error: null,
} as const;

/** With the shard, or with why there is none. */
function settled(placement: Placement, find: () => TopologyShard): Placement {
  try {
    return { ...placement, shard: find().name };
  } catch (error) {
    return { ...placement, shard: null, error: failureOf(error) };
  }
}
