import { ShardingError } from '@app/routing';

/** A class whose objects are events: plain data that survives JSON. */
export type EventClass<E extends object = object> = abstract new (...args: never[]) => E;

const TYPE = Symbol.for('nestjs-sharding.event-type');

/**
 * Names a class of events for ever: the name is stored with each event and found again by handlers, whatever becomes of the
 * class's own name.
 *
 * @example \@EventType('wallet.opened') export class WalletOpened { constructor(readonly walletId: string) {} }
 */
export function EventType(name: string): (target: EventClass) => void {
  return (target) => {
    Object.defineProperty(target, TYPE, { value: name });
  };
}

/** @throws ShardingError `invalid_options` for a class without `@EventType` */
export function eventTypeOf(target: unknown): string {
  const type = Object.hasOwn(Object(target), TYPE) ? (target as { [TYPE]?: string })[TYPE] : undefined;
  if (type) return type;
  const name = typeof target === 'function' ? target.name : typeof target;
  throw new ShardingError(
    'invalid_options',
    `${name} has no event type: decorate the class with @EventType('...')`,
  );
}
