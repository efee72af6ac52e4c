import type { Gauge } from 'prom-client';
import type { Database } from '../shards/database.js';
import type { Fleet } from '../shards/fleet.js';
import type { Replica, ReplicaStatus } from '../shards/reads/replica.js';
import type { MetricSet } from './metric-set.js';

const STATES = ['active', 'idle', 'waiting'] as const;

/** What the databases are like at the moment of a scrape. */
export function addFleetGauges(set: MetricSet, fleet: Fleet): void {
  addPoolGauges(set, fleet);
  addReplicaGauges(set, fleet);
  set.gauge(
    {
      name: 'sharding_shard_info',
      help: '1 for each shard, with the group that says where its data is allowed to live.',
      labelNames: ['shard', 'group'],
    },
    (gauge) => {
      for (const { name, group } of fleet.shards) gauge.set({ shard: name, group }, 1);
    },
  );
  set.gauge(
    { name: 'sharding_slots', help: 'Slots that the shard owns.', labelNames: ['shard'] },
    (gauge) => {
      for (const { name, slots } of fleet.shards) gauge.set({ shard: name }, slots);
    },
  );
  set.gauge(
    {
      name: 'sharding_breaker_open',
      help: '1 while checkouts are refused because the server is known to be gone.',
      labelNames: ['shard', 'role'],
    },
    (gauge) => {
      for (const { place, breakerState } of databasesOf(fleet)) {
        gauge.set({ shard: place.shard, role: place.role }, breakerState === 'closed' ? 0 : 1);
      }
    },
  );
}

function addPoolGauges(set: MetricSet, fleet: Fleet): void {
  set.gauge(
    {
      name: 'sharding_pool_connections',
      help: 'Connections of the pool in use and idle, and callers that wait for one.',
      labelNames: ['shard', 'role', 'state'],
    },
    (gauge) => {
      for (const database of databasesOf(fleet)) setPool(gauge, database);
    },
  );
  set.gauge(
    {
      name: 'sharding_pool_max_connections',
      help: 'Connections that the pool may open.',
      labelNames: ['shard', 'role'],
    },
    (gauge) => {
      for (const { place, poolSize } of databasesOf(fleet)) {
        gauge.inc({ shard: place.shard, role: place.role }, poolSize);
      }
    },
  );
}

/** Adds: applications that share a registry open connections to the same servers. */
function setPool(gauge: Gauge, database: Database): void {
  const { shard, role } = database.place;
  const stats = database.stats();
  for (const state of STATES) gauge.inc({ shard, role, state }, stats[state]);
}

function addReplicaGauges(set: MetricSet, fleet: Fleet): void {
  const gauge = (name: string, help: string, value: (status: ReplicaStatus) => number | undefined) =>
    set.gauge({ name, help, labelNames: ['shard'] }, (at) => {
      for (const replica of replicasOf(fleet)) {
        const now = value(replica.status());
        if (now !== undefined) at.set({ shard: replica.database.place.shard }, now);
      }
    });
  gauge('sharding_replica_ready', '1 while reads use the replica.', ({ ready }) => (ready ? 1 : 0));
  gauge(
    'sharding_replica_lag_seconds',
    'How far the replica is behind; absent until it was seen.',
    (status) => (status.lagMs === undefined ? undefined : status.lagMs / 1000),
  );
}

function replicasOf({ reads }: Fleet): Replica[] {
  return reads.flatMap(({ replica }) => (replica ? [replica] : []));
}

function databasesOf({ reads }: Fleet): Database[] {
  return reads.flatMap(({ primary, replica }) => (replica ? [primary, replica.database] : [primary]));
}
