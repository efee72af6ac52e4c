import type { EventKey } from './event-key.js';

/** A row of `_sharding_outbox`, as it is written. Handlers run in the context of its key; it has none for entities without a tenant. */
export interface OutboxEvent extends EventKey {
  /** UUID; also the key of the inbox. */
  readonly eventId: string;
  /** UUID of the action that has emitted it. */
  readonly actionId: string;
  readonly type: string;
  /** What JSON keeps of the event. */
  readonly payload: object;
  /** Events of one aggregate are delivered one after the other. */
  readonly aggregateId: string;
  readonly occurredAt: Date;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
