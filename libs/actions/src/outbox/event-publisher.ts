import type { EventEnvelope } from './event-envelope.js';

/**
 * Hands events to another system. Give objects of it, or provider classes, as `outbox.publishers`.
 *
 * Events of one aggregate come one after the other; an event is done when every publisher and every handler has taken it.
 */
export interface EventPublisher {
  /** Unique among handlers and publishers, and permanent: stored with each event that it has taken. */
  readonly name: string;
  /** Default: all. */
  readonly types?: readonly string[] | undefined;
  /** Events at a time, on each shard. Default 16. */
  readonly concurrency?: number | undefined;
  /**
   * At least once for each event: `eventId` tells a repetition. Rejects where the event was not taken; it is then tried
   * again, with those handlers and publishers that have not taken it.
   */
  publish(event: EventEnvelope): Promise<void>;
}
