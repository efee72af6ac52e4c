import type { RoutingKey } from '@app/routing';

/** What `ActionExecutor.execute` takes besides the parameters. */
export interface ExecuteOptions {
  /** The action runs inside of the routing context of this key, as by `shards.runFor(key, ...)`. */
  readonly key?: RoutingKey;
  /** As with `@Action({ allowCrossShard: true })`, this time. */
  readonly allowCrossShard?: boolean;
  /** Ends the waits, and the statements that run. */
  readonly signal?: AbortSignal;
}
