import { SLOT_COUNT, ShardingError } from '@app/routing';

/** Whether writes of the moved keys are refused by the source, or kept away by the operator. */
export const MOVE_WRITES = ['operator', 'fenced'] as const;
export type MoveWrites = (typeof MOVE_WRITES)[number];

/** How a tenant column's values are hashed: as text, or as the integers that the application routes by. */
export const KEY_KINDS = ['text', 'integer'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/**
 * Why rows leave a shard that their keys are not routed to: the destination, which they are routed to, has no rows of theirs, or
 * the very same ones. `moves/MOVE.md`, Repairs.
 */
export const MOVE_REASONS = ['misplaced', 'duplicate'] as const;
export type MoveReason = (typeof MOVE_REASONS)[number];

export const MOVE_IDS = ['kept', 'reassigned'] as const;
export type MoveIds = (typeof MOVE_IDS)[number];

/** What is to be moved, as the caller says it. Either `keys` or `slots`. */
export interface MoveRequest {
  /** The name of the source. */
  readonly from: string;
  /** The name of the destination, a shard of the same group. */
  readonly to: string;
  /** Routing keys, as text. */
  readonly keys?: readonly string[];
  /** Whole slots, 0 to 16383. */
  readonly slots?: readonly number[];
  /** Names, of the search path of the shard or with their schema. Default: every table with the key column. */
  readonly tables?: readonly string[];
  /** Default `tenant_id`. */
  readonly keyColumn?: string;
  /** Default `text`. */
  readonly keyKind?: KeyKind;
  /**
   * By which the rows of each table are told apart, and which is numbered anew with `ids: 'reassigned'`: not null, and unique by
   * itself. Default: the primary key, or a unique key without nulls.
   */
  readonly idColumn?: string;
  /** Default `operator`. */
  readonly writes?: MoveWrites;
  /** How long the fence may stand; default 30,000. */
  readonly fenceMs?: number;
  /**
   * Whether rows keep their ids. `reassigned`: the destination numbers them, in tables that no foreign key refers to. Default
   * `kept`.
   */
  readonly ids?: MoveIds;
  /** Rows per second of the copy; default: no limit. */
  readonly throttle?: number;
  /** Of a repair. Default: the keys are routed to the source. */
  readonly reason?: MoveReason;
  /** Who, for the record. */
  readonly by: string;
}

/** Whose rows: complete and checked. */
export type MoveScope = { readonly keys: readonly string[] } | { readonly slots: readonly number[] };

/** @throws ShardingError `move_refused` */
export function scopeOf({
  from,
  to,
  keys = [],
  slots = [],
}: Pick<MoveRequest, 'from' | 'to' | 'keys' | 'slots'>): MoveScope {
  if (from === to) throw new ShardingError('move_refused', `source and destination are both "${from}"`);
  if ((keys.length === 0) === (slots.length === 0)) {
    throw new ShardingError('move_refused', 'a move needs either tenants or slots');
  }
  if (keys.length > 0) return { keys: [...new Set(keys)].toSorted() };
  const wrong = slots.find((slot) => !Number.isInteger(slot) || slot < 0 || slot >= SLOT_COUNT);
  if (wrong !== undefined)
    throw new ShardingError('invalid_slot', `${wrong} is no slot: 0 to ${SLOT_COUNT - 1}`);
  return { slots: [...new Set(slots)].toSorted((a, b) => a - b) };
}
