import type { ShardDb } from '@app/sharding';

/** An event on its way, with what is known of it. */
export interface EventEnvelope {
  /** UUID, the same at each attempt. */
  readonly eventId: string;
  /** UUID of the action that has emitted it. */
  readonly actionId: string;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** An integer where the application routes by integers; undefined for entities that have no tenant. */
  readonly routingKey: string | number | bigint | undefined;
  readonly aggregateId: string;
  /** The shard that it was committed on; the key may have moved since. */
  readonly shard: string;
  readonly occurredAt: Date;
  /** 1 at the first attempt. */
  readonly attempt: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the time of this attempt is up, or the process ends. */
  readonly signal: AbortSignal;
}

/** What a handler gets beside the event. */
export interface HandledEvent extends EventEnvelope {
  /**
   * Runs `work` in one transaction with a row of the inbox, on the shard of the routing key, or on that of the event where
   * it has none: what `work` writes there is committed once, however often the event is delivered.
   *
   * @returns false where it was done before; `work` is not called then
   * @throws what `work` and `ShardDb.tx` throw
   */
  once(work: (tx: ShardDb) => Promise<unknown>): Promise<boolean>;
}
