import pLimit from 'p-limit';
import { within } from '@app/sharding';
import { keptKey } from './event-key.js';
import { failureText } from './failure-text.js';
import { retryDelayMs } from './retry-delay.js';
import type { LimitFunction } from 'p-limit';
import type { EventEnvelope } from './event-envelope.js';
import type { Backoff } from './retry-delay.js';
import type { Subscriber } from './subscriber.js';
import type { Subscribers } from './subscribers.js';
import type { Outcome, WaitingEvent } from './waiting-event.js';

export interface DeliveryParts {
  readonly shard: string;
  readonly subscribers: Subscribers;
  /** Ends every attempt. */
  readonly signal: AbortSignal;
  readonly handlerTimeoutMs: number;
  readonly maxAttempts: number;
  readonly backoff: Backoff;
}

/** Hands the events of one shard to their handlers and publishers, each bounded in number and in time. */
export class Delivery {
  readonly #limits = new Map<string, LimitFunction>();

  constructor(private readonly parts: DeliveryParts) {}

  /** One attempt: all who have not taken the event get it at the same time. Undefined: given up, nothing is to be written. */
  async attempt(event: WaitingEvent): Promise<Outcome | undefined> {
    const { subscribers, signal } = this.parts;
    const due = subscribers.of(event.type).filter(({ name }) => !event.handled.includes(name));
    if (due.length === 0) return { position: event.position };
    const ends = await Promise.allSettled(due.map((subscriber) => this.#inTurn(subscriber, event)));
    const failed = ends.findIndex(({ status }) => status === 'rejected');
    if (failed === -1) return { position: event.position };
    if (signal.aborted) return undefined; // the end of the process is no failure of a handler
    const taken = due.filter((_one, index) => ends[index]?.status === 'fulfilled').map(({ name }) => name);
    const { reason } = ends[failed] as PromiseRejectedResult;
    return {
      position: event.position,
      attempts: event.attempts,
      failure: `${due[failed]?.name}: ${failureText(reason)}`,
      handled: [...event.handled, ...taken],
      retryMs: this.#retryMs(event.attempts + 1, due[failed]),
    };
  }

  /** Undefined where an event that has failed so often is given up. */
  #retryMs(failures: number, failed: Subscriber | undefined): number | undefined {
    const { maxAttempts, backoff } = this.parts;
    if (failures >= (failed?.maxAttempts ?? maxAttempts)) return undefined;
    return retryDelayMs({ ...backoff, mostMs: failed?.mostRetryMs ?? backoff.mostMs }, failures);
  }

  #inTurn(subscriber: Subscriber, event: WaitingEvent): Promise<void> {
    const { name, concurrency } = subscriber;
    const limit = this.#limits.get(name) ?? pLimit(concurrency);
    this.#limits.set(name, limit);
    return limit(() => this.#deliver(subscriber, event));
  }

  async #deliver(subscriber: Subscriber, event: WaitingEvent): Promise<void> {
    const { handlerTimeoutMs: deadlineMs, signal } = this.parts;
    const ended = new AbortController();
    const end = () => ended.abort();
    signal.addEventListener('abort', end, { once: true });
    try {
      await within(`the event handler "${subscriber.name}"`, { deadlineMs, signal }, () =>
        subscriber.deliver(this.#envelope(event, ended.signal)),
      );
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  }

  #envelope(event: WaitingEvent, signal: AbortSignal): EventEnvelope {
    const { position: _position, handled: _handled, attempts, routingKey, keyKind, ...known } = event;
    return {
      ...known,
      shard: this.parts.shard,
      routingKey: keptKey({
        routingKey: routingKey ?? undefined,
        ...(keyKind === 'integer' && { keyKind }),
      }),
      attempt: attempts + 1,
      signal,
    };
  }
}
