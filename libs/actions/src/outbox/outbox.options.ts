import type { Type } from '@nestjs/common';
import type { EventPublisher } from './event-publisher.js';

/** How events are delivered. Every member has a default. */
export interface OutboxOptions {
  /**
   * `on` (default): this process delivers events, where no other one does. `off`: it never does; for processes without the
   * handlers, since whoever delivers hands each event to the handlers that it has itself.
   */
  readonly relay?: 'on' | 'off';
  /** Who gets events beside the handlers: objects, or classes of providers. Default none. */
  readonly publishers?: readonly (EventPublisher | Type<EventPublisher>)[];
  /** Another process takes over from one that died after so long. Default 15000. */
  readonly leaseMs?: number;
  /** The longest pause between two looks at a quiet shard. Default 1000. */
  readonly idleMs?: number;
  /** How often it is counted what waits, for metrics and health. Default 10000. */
  readonly statusMs?: number;
  /** Events of one shard that are read at a time, and the most of them in memory. Default 500. */
  readonly batchSize?: number;
  /** A handler, or a publisher, that takes longer has failed. Default 30000. */
  readonly handlerTimeoutMs?: number;
  /** An event that has failed so often is a dead letter. Default 20, with the pauses about an hour and a half. */
  readonly maxAttempts?: number;
  /** The pause after the first failure, doubled after each further one. Default 1000. */
  readonly firstRetryMs?: number;
  /** The longest pause between two attempts. Default 600000. */
  readonly mostRetryMs?: number;
  /** At the end of the process handlers get so long to end. Default 5000. */
  readonly shutdownMs?: number;
  /** Days that delivered events are kept. Default 0: they are deleted at once. */
  readonly deliveredDays?: number;
  /** Days that dead letters are kept. Default 30. */
  readonly deadDays?: number;
  /** Days that the inbox knows an event; not less than `deadDays`, since dead letters may be delivered again. Default 60. */
  readonly inboxDays?: number;
  /** Days that sagas are kept after they are completed or compensated; stuck ones stay. Default 30. */
  readonly sagaDays?: number;
}
