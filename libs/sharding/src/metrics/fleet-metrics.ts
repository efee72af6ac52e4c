import { failureLabel } from './failure-label.js';
import { addFleetGauges } from './fleet-gauges.js';
import { MetricSet } from './metric-set.js';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Counter, Histogram, Registry } from 'prom-client';
import type { ShardFact } from '../shard-facts.js';
import type { Fleet } from '../shards/fleet.js';
import type {
  DatabaseObserver,
  Place,
  RequestEvent,
  ScatterSummary,
  StandInEvent,
  StatementEvent,
} from '../shards/telemetry.js';
import type { MetricsOptions } from './metrics-paths.js';

/** From a statement on a warm connection to a timeout, in seconds. */
const DATABASE_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
/** Fewer: there is a series for each route, status and shard. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The Prometheus metrics of one application. Labels come from the configuration and the code, never from requests. */
export class FleetMetrics implements DatabaseObserver, OnApplicationShutdown {
  readonly #set: MetricSet;
  readonly #fleet: Fleet;
  readonly #checkouts: Histogram;
  readonly #queries: Histogram;
  readonly #transactions: Histogram;
  readonly #failures: Counter;
  readonly #scatters: Counter;
  readonly #standIns: Counter;
  readonly #endObservation: () => void;
  /** Absent when the routes are not measured. */
  readonly request?: (event: RequestEvent) => void;

  constructor(
    fleet: Fleet,
    readonly registry: Registry,
    { routes = 'on' }: MetricsOptions,
  ) {
    this.#fleet = fleet;
    const set = (this.#set = new MetricSet(registry));
    addFleetGauges(set, fleet);
    const histogram = (name: string, help: string) =>
      set.histogram({ name, help, labelNames: ['shard', 'role'] }, DATABASE_BUCKETS);
    this.#checkouts = histogram('sharding_checkout_wait_seconds', 'Wait for a connection of the pool.');
    this.#queries = histogram('sharding_query_duration_seconds', 'Time of a statement on its connection.');
    this.#transactions = histogram('sharding_transaction_duration_seconds', 'Time from BEGIN to the end.');
    this.#failures = set.counter({
      name: 'sharding_failures_total',
      help: 'Checkouts and statements that failed, by ShardingError code or SQLSTATE class.',
      labelNames: ['shard', 'role', 'operation', 'code'],
    });
    this.#scatters = set.counter({
      name: 'sharding_scatters_total',
      help: 'Reads over all shards, by entity, method and how they ended.',
      labelNames: ['entity', 'method', 'outcome'],
    });
    this.#standIns = set.counter({
      name: 'sharding_unregistered_shards_total',
      help: 'Uses of a shard that stands in for one that no configuration names.',
      labelNames: ['entity', 'shard'],
    });
    if (routes === 'on') this.request = requestObserver(set);
    this.#endObservation = fleet.telemetry.observe(this);
  }

  checkout({ shard, role }: Place, waitMs: number, error?: unknown): void {
    this.#checkouts.observe({ shard, role }, waitMs / 1000);
    this.#failed({ shard, role }, 'checkout', error);
  }

  statement({ shard, role }: Place, { ms, error }: StatementEvent): void {
    this.#queries.observe({ shard, role }, ms / 1000);
    this.#failed({ shard, role }, 'statement', error);
  }

  transaction({ shard, role }: Place, { ms }: Omit<StatementEvent, 'sql'>): void {
    this.#transactions.observe({ shard, role }, ms / 1000);
  }

  scatter({ entity, method, outcome }: ScatterSummary): void {
    this.#scatters.inc({ entity, method, outcome });
  }

  standIn({ entity, shard }: StandInEvent): void {
    this.#standIns.inc({ entity, shard });
  }

  /** As the gauge `sharding_<name>`, while its value is known. */
  addFact({ name, help, value }: ShardFact): void {
    this.#set.gauge({ name: `sharding_${name}`, help, labelNames: ['shard'] }, (gauge) => {
      for (const { name: shard } of this.#fleet.shards) {
        const now = value(shard);
        if (now !== undefined) gauge.set({ shard }, now);
      }
    });
  }

  /** After HTTP has closed. */
  onApplicationShutdown(): void {
    this.#endObservation();
    this.#set.release();
  }

  #failed(place: Pick<Place, 'shard' | 'role'>, operation: 'checkout' | 'statement', error: unknown): void {
    if (error !== undefined) this.#failures.inc({ ...place, operation, code: failureLabel(error) });
  }
}

function requestObserver(set: MetricSet): (event: RequestEvent) => void {
  const requests = set.histogram(
    {
      name: 'http_server_request_duration_seconds',
      help: 'HTTP requests by route template and by the shard that they were routed to.',
      labelNames: ['method', 'route', 'status', 'shard'],
    },
    REQUEST_BUCKETS,
  );
  return ({ method, route = 'unmatched', status, shard, ms }) =>
    requests.observe({ method, route, status, shard }, ms / 1000);
}
