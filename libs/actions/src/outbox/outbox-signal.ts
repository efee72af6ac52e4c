import { Injectable } from '@nestjs/common';

/** Tells the relays of this process that events were committed on a shard, so that they need not wait for their next look. */
@Injectable()
export class OutboxSignal {
  readonly #listeners = new Set<(shard: string) => void>();

  /** After the commit of a transaction with events. */
  written(shard: string): void {
    for (const listener of this.#listeners) listener(shard);
  }

  /** @returns ends the subscription */
  subscribe(listener: (shard: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
