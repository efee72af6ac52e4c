import { Counter, Gauge, Histogram } from 'prom-client';
import { ShardingError } from '@app/routing';
import type { Metric, Registry } from 'prom-client';

export interface MetricConfig {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** Sets the values of one application at a scrape. */
type Fill = (gauge: Gauge) => void;

/** Who uses a metric; kept on the metric, since applications of one process may share a registry. */
const USERS = Symbol.for('nestjs-sharding.metric-users');

type Held<M> = M & { [USERS]?: Set<Fill> };

/**
 * The metrics of one application in a registry. Applications that share the registry share the metrics; the last one
 * that leaves takes them away.
 */
export class MetricSet {
  readonly #held: { readonly name: string; readonly use: Fill; readonly users: Set<Fill> }[] = [];

  constructor(private readonly registry: Registry) {}

  /** Its values are asked for at each scrape and never kept. */
  gauge(config: MetricConfig, fill: Fill): void {
    this.hold(config, fill, (users) => {
      const collect = function (this: Gauge) {
        this.reset();
        for (const use of users) use(this);
      };
      return new Gauge({ ...this.parts(config), collect });
    });
  }

  /** @param buckets in seconds */
  histogram(config: MetricConfig, buckets: readonly number[]): Histogram {
    return this.hold(
      config,
      () => undefined,
      () => new Histogram({ ...this.parts(config), buckets: [...buckets] }),
    );
  }

  counter(config: MetricConfig): Counter {
    return this.hold(
      config,
      () => undefined,
      () => new Counter(this.parts(config)),
    );
  }

  /** The registry keeps nothing that this application alone has used. */
  release(): void {
    for (const { name, use, users } of this.#held.splice(0)) {
      users.delete(use);
      if (users.size === 0) this.registry.removeSingleMetric(name);
    }
  }

  /** @throws ShardingError `invalid_options` where the name is taken by a metric of somebody else */
  private hold<M extends Metric>({ name }: MetricConfig, use: Fill, make: (users: Set<Fill>) => M): M {
    const known = this.registry.getSingleMetric(name) as Held<M> | undefined;
    if (known && !known[USERS]) {
      throw new ShardingError(
        'invalid_options',
        `the metrics registry has a metric ${name} already: give ShardingModule a registry without it`,
      );
    }
    const users = known?.[USERS] ?? new Set<Fill>();
    const metric = known ?? Object.defineProperty<Held<M>>(make(users), USERS, { value: users });
    users.add(use);
    this.#held.push({ name, use, users });
    return metric;
  }

  private parts({ name, help, labelNames }: MetricConfig) {
    return { name, help, labelNames: [...labelNames], registers: [this.registry] };
  }
}
