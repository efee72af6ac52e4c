/** A row of the outbox that is to be delivered. */
export interface WaitingEvent {
  /** Grows; text, since it is a `bigint`. */
  readonly position: string;
  readonly eventId: string;
  readonly actionId: string;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly routingKey: string | null;
  readonly keyKind: 'text' | 'integer';
  readonly aggregateId: string;
  readonly occurredAt: Date;
  readonly headers: Readonly<Record<string, string>>;
  /** Handlers and publishers that have taken it. */
  readonly handled: readonly string[];
  /** Attempts that have failed. */
  readonly attempts: number;
}

/** How one attempt ended. */
export type Outcome = Delivered | Failed;

export interface Delivered {
  readonly position: string;
  readonly failure?: undefined;
}

/** An attempt that has failed: it is tried again, or it is a dead letter. */
export interface Failed {
  readonly position: string;
  /** Those that had failed before: what is written twice counts once. */
  readonly attempts: number;
  /** Without what is in rows. */
  readonly failure: string;
  readonly handled: readonly string[];
  /** Undefined: never again. */
  readonly retryMs: number | undefined;
}
