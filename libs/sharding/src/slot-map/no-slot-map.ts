import { INSUFFICIENT_PRIVILEGE, isUnmigrated } from '../shards/sqlstates.js';
import type { ShardingErrorCode } from '@app/routing';

/** Why a question to the slot map has failed. */
export interface NoSlotMap {
  readonly code: ShardingErrorCode;
  /** What the control database does. */
  readonly reason: string;
}

/** Where the tables of the slot map are not there or not open to this role; else undefined. */
export function noSlotMap(code: string | undefined): NoSlotMap | undefined {
  if (isUnmigrated(code)) {
    return {
      code: 'migrations_pending',
      reason: 'has no slot map: run the migrations (shardctl migrate, or migrate())',
    };
  }
  if (code !== INSUFFICIENT_PRIVILEGE) return undefined;
  return {
    code: 'shard_unavailable',
    reason:
      'refuses its slot map to this role: grant select, insert on _sharding_map, and select on _sharding_slot_moves',
  };
}
