/** What is used of prom-client's `Registry`; prom-client itself is optional. */
export interface MetricsRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
  removeSingleMetric(name: string): void;
}

/** What `ShardingModule.forRoot(options, { metrics })` accepts; the routes exist before the options are known. */
export interface MetricsOptions {
  /** Prometheus text, where prom-client is installed. Default `metrics`. */
  readonly path?: string;
  /** JSON with the pools of every database. Default `actuator/metrics`. */
  readonly jsonPath?: string;
  /** A `Registry` of prom-client that gets the metrics, and whose whole content is served. Default: one of its own. */
  readonly registry?: MetricsRegistry;
  /** `off` leaves out the histogram of the HTTP routes. Default `on`. */
  readonly routes?: 'on' | 'off';
}

export interface MetricsPaths {
  readonly prometheus: string;
  readonly json: string;
}

export function metricsPaths(options: MetricsOptions = {}): MetricsPaths {
  return { prometheus: options.path ?? 'metrics', json: options.jsonPath ?? 'actuator/metrics' };
}
