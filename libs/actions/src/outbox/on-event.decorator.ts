import { eventTypeOf } from './event-type.decorator.js';
import type { EventClass } from './event-type.decorator.js';
import type { HandledEvent } from './event-envelope.js';

export interface OnEventOptions {
  /** Unique and permanent: stored with events that it has taken, and in the inbox. */
  readonly name: string;
  /** Events at a time, on each shard. Default 16. */
  readonly concurrency?: number;
}

/** One decoration of a method. */
export interface OnEventMark extends OnEventOptions {
  readonly event: EventClass;
  readonly type: string;
}

export const ON_EVENT = Symbol.for('nestjs-sharding.on-event');

/** `handle(event, envelope)`. */
type Handler<E> = (event: E, envelope: HandledEvent) => unknown;

/**
 * Makes a method of a provider a handler of events. It runs inside of the routing context of the event's key, at least once
 * for each event; what must happen once belongs into `envelope.once(...)`.
 *
 * @example \@OnEvent(WalletOpened, { name: 'greet-owner' }) greet(event: WalletOpened, envelope: HandledEvent) { ... }
 * @throws ShardingError `invalid_options` for a class without `@EventType`
 */
export function OnEvent<E extends object>(event: EventClass<E>, options: OnEventOptions) {
  const mark: OnEventMark = { ...options, event, type: eventTypeOf(event) };
  return <H extends Handler<E>>(
    _target: object,
    _method: string | symbol,
    descriptor: TypedPropertyDescriptor<H>,
  ): void => {
    const handler = descriptor.value as object;
    Object.defineProperty(handler, ON_EVENT, { value: [...marksOf(handler), mark], configurable: true });
  };
}

/** The decorations of a method. */
export function marksOf(method: unknown): readonly OnEventMark[] {
  if (typeof method !== 'function') return [];
  return (method as { [ON_EVENT]?: readonly OnEventMark[] })[ON_EVENT] ?? [];
}
