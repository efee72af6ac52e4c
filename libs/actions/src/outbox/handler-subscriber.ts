import { onceInbox } from './inbox.js';
import type { Shards } from '@app/sharding';
import type { EventEnvelope, HandledEvent } from './event-envelope.js';
import type { OnEventMark } from './on-event.decorator.js';
import type { Subscriber } from './subscriber.js';

export const DEFAULT_CONCURRENCY = 16;

/** A method of a provider. */
export interface HandlerMethod {
  readonly mark: OnEventMark;
  readonly call: (event: object, envelope: HandledEvent) => unknown;
}

/** A decorated method as {@link Subscriber}: in the routing context of the event's key. */
export function handlerSubscriber({ mark, call }: HandlerMethod, shards: Shards): Subscriber {
  const { name, type, concurrency = DEFAULT_CONCURRENCY, event: eventClass } = mark;
  const handle = async (event: EventEnvelope) => {
    await call(revived(eventClass.prototype as object, event.payload), handled(event, { name, shards }));
  };
  return {
    name,
    type,
    concurrency,
    deliver: (event) => {
      const { routingKey } = event;
      return routingKey === undefined ? handle(event) : shards.runFor(routingKey, () => handle(event));
    },
  };
}

/** An object of the event's class with the fields of the payload; its constructor is not called. */
function revived(prototype: object, payload: object): object {
  return Object.create(prototype, Object.getOwnPropertyDescriptors(payload)) as object;
}

function handled(
  event: EventEnvelope,
  { name, shards }: { readonly name: string; readonly shards: Shards },
): HandledEvent {
  return {
    ...event,
    once: async (work) => {
      const { routingKey, shard } = event;
      const db = await (routingKey === undefined ? shards.dbOn(shard) : shards.dbFor(routingKey));
      return onceInbox(db, { handler: name, event }, work);
    },
  };
}
