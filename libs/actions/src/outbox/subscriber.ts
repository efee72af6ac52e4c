import type { EventEnvelope } from './event-envelope.js';

/** Who gets events: a handler, or a publisher. */
export interface Subscriber {
  /** Permanent: stored with each event that it has taken while others have not yet. */
  readonly name: string;
  /** The type, or the types, of its events; undefined: all. */
  readonly type: string | readonly string[] | undefined;
  /** Events at a time, on each shard. */
  readonly concurrency: number;
  /** Attempts after which an event that it does not take is a dead letter. Default: the relay's. */
  readonly maxAttempts?: number;
  /** The longest pause between two attempts. Default: the relay's. */
  readonly mostRetryMs?: number;
  /** Takes an event, perhaps again. Rejects where it could not. */
  deliver(event: EventEnvelope): Promise<void>;
}
