import type { MigrationTarget } from '../../migrations/migration-target.js';
import type { ShardingSettings } from '../../sharding.settings.js';
import type { CheckName, Verdict } from './finding.js';
import type { Look } from './look.js';
import type { Place } from '../place.js';
import type { ServerAnswer } from './probe.js';

/** What a judge may know beside its own facts. */
export interface DoctorContext {
  readonly settings: ShardingSettings;
  readonly places: readonly Place[];
  /** Of every way that answers. */
  readonly servers: readonly ServerAnswer[];
  /** By target, as far as the lists could be loaded. */
  readonly migrations: ReadonlyMap<string, MigrationTarget>;
  readonly rules: TenantRules;
}

/** How sharded tables are recognised. */
export interface TenantRules {
  /** A table that has this column is sharded. */
  readonly tenantColumn: string;
  /** Tables that must have it. */
  readonly shardedTables: readonly string[];
}

/** What one database has answered. */
export interface Found<Facts> {
  readonly place: Place;
  readonly facts: Facts;
}

/** One idea. It reads facts where it looks, and judges them all together. */
export interface CheckOf<Facts> {
  readonly name: CheckName;
  /** `deployment`: it makes no sense for one shard alone. */
  readonly scope: 'target' | 'deployment';
  /** Undefined: the answers of the servers are enough. */
  readonly read?: (place: Place, look: Look, context: DoctorContext) => Promise<Facts> | undefined;
  judge(found: readonly Found<Facts>[], context: DoctorContext): Verdict[];
}

export type Check = CheckOf<unknown>;

/** A check whose facts only it knows. */
export function check<Facts>(parts: CheckOf<Facts>): Check {
  return parts as Check;
}
