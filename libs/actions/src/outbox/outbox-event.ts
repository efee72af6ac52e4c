/** A row of `_sharding_outbox`, as it is written. */
export interface OutboxEvent {
  /** UUID; also the key of the inbox. */
  readonly eventId: string;
  /** UUID of the action that has emitted it. */
  readonly actionId: string;
  readonly type: string;
  /** What JSON keeps of the event. */
  readonly payload: object;
  /** Handlers run in its context; absent for entities that have no tenant. */
  readonly routingKey?: string | undefined;
  /** Events of one aggregate are delivered one after the other. */
  readonly aggregateId: string;
  readonly occurredAt: Date;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
