import { Injectable } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import type { Subscriber } from './subscriber.js';

const LONGEST_NAME = 100;

/** All handlers and publishers of this process. Whoever adds one does so before the application has started. */
@Injectable()
export class Subscribers {
  readonly #byName = new Map<string, Subscriber>();
  readonly #byType = new Map<string, readonly Subscriber[]>();

  /** @throws ShardingError `invalid_options` for a name that is taken or empty, or a concurrency below 1 */
  add(subscriber: Subscriber): void {
    const { name, concurrency } = subscriber;
    if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME) {
      throw invalid(`each needs a name of 1 to ${LONGEST_NAME} characters, which stays the same for ever`);
    }
    if (this.#byName.has(name)) throw invalid(`two are named "${name}": give each a name of its own`);
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw invalid(`the concurrency of "${name}" is a whole number of at least 1`);
    }
    this.#byName.set(name, subscriber);
    this.#byType.clear();
  }

  /** Who gets events of a type; perhaps nobody. */
  of(type: string): readonly Subscriber[] {
    const known = this.#byType.get(type);
    if (known) return known;
    const found = [...this.#byName.values()].filter((one) => takes(one, type));
    if (found.length > 0) this.#byType.set(type, found); // types that nobody knows are not kept
    return found;
  }
}

function takes({ type: taken }: Subscriber, type: string): boolean {
  return taken === undefined || taken === type || (typeof taken !== 'string' && taken.includes(type));
}

function invalid(what: string): ShardingError {
  return new ShardingError('invalid_options', `event handlers and publishers: ${what}`);
}
