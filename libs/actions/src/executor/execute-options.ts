import type { Place, RoutingKey } from '@app/routing';

/** What `ActionExecutor.execute` takes besides the parameters. */
export interface ExecuteOptions {
  /** The action runs inside of the routing context of this key, as by `shards.runFor(key, ...)`. */
  readonly key?: RoutingKey;
  /** As with `@Action({ allowCrossShard: true })`, this time. */
  readonly allowCrossShard?: boolean;
  /**
   * 1 to 255 characters that name this execution of the action at its home: the second one with the same name does not
   * perform, and returns the result of the first as JSON keeps it. Its result is kept for `ledgerDays`.
   */
  readonly idempotencyKey?: string;
  /**
   * Where the result of an idempotency key is kept. Default: where the routing key is, and moves. Needed where there is no
   * routing key: `ShardedUuid.identifier(id)`, say.
   */
  readonly home?: Place;
  /** Ends the waits between attempts, and the statements of an action on one shard. */
  readonly signal?: AbortSignal;
}
