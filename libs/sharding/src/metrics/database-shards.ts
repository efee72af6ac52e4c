import type { BreakerState } from '../shards/breaker.js';
import type { Database, PoolStats } from '../shards/database.js';
import type { Fleet } from '../shards/fleet.js';
import type { Reads } from '../shards/reads/reads.js';

/** One server role of one place. */
export interface DatabaseMetrics {
  readonly pool: PoolStats;
  readonly breaker: BreakerState;
}

export interface ReplicaMetrics extends DatabaseMetrics {
  readonly ready: boolean;
  /** Why it is not ready; `streaming` when it is. */
  readonly detail: string;
  /** Null until it was seen. */
  readonly lag_ms: number | null;
}

/** A shard, or the control database, which has neither group nor slots. */
export interface PlaceMetrics {
  readonly group?: number;
  /** How many it owns. */
  readonly slots?: number;
  readonly primary: DatabaseMetrics;
  /** Absent where none is configured. */
  readonly replica?: ReplicaMetrics;
}

/** The body of `GET /actuator/metrics`. */
export interface MetricsReport {
  /** `control` first, then the shards by name in declaration order. */
  readonly database_shards: Readonly<Record<string, PlaceMetrics>>;
}

/** What this process holds of each database right now; asks no server. */
export function metricsReport({ control, shards }: Fleet): MetricsReport {
  const places: [string, PlaceMetrics][] = control ? [['control', placeMetrics(control.reads)]] : [];
  for (const { name, group, slots, reads } of shards) {
    places.push([name, { group, slots, ...placeMetrics(reads) }]);
  }
  return { database_shards: Object.fromEntries(places) };
}

function placeMetrics({ primary, replica }: Reads): PlaceMetrics {
  if (!replica) return { primary: databaseMetrics(primary) };
  const { ready, detail, lagMs } = replica.status();
  const followed = { ...databaseMetrics(replica.database), ready, detail, lag_ms: lagMs ?? null };
  return { primary: databaseMetrics(primary), replica: followed };
}

function databaseMetrics(database: Database): DatabaseMetrics {
  return { pool: database.stats(), breaker: database.breakerState };
}
