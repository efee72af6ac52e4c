export { EventType, eventTypeOf } from './outbox/event-type.decorator.js';
export type { EventClass } from './outbox/event-type.decorator.js';
export { appendEvents } from './outbox/append-events.js';
export type { OutboxEvent } from './outbox/outbox-event.js';
export { OutboxSignal } from './outbox/outbox-signal.js';
