import { deleteExpired } from './idempotency-rows.js';
import type { QueryRunner } from 'typeorm';

const EVERY_MS = 60_000;
const BATCH = 1000;
const MAX_BATCHES = 100;

/** Deletes answers that are no longer kept, where new ones are stored: in short batches, at most once a minute a place. */
export class Expiry {
  readonly #last = new Map<string, number>();

  /**
   * @param place of a fixed set: shards and control
   * @param withRunner lends a connection for one batch
   */
  note(place: string, withRunner: (work: (runner: QueryRunner) => Promise<number>) => Promise<number>): void {
    const now = performance.now();
    if (now - (this.#last.get(place) ?? -Infinity) < EVERY_MS) return;
    this.#last.set(place, now);
    void this.#delete(withRunner).catch(() => undefined); // the next one will do
  }

  async #delete(
    withRunner: (work: (runner: QueryRunner) => Promise<number>) => Promise<number>,
  ): Promise<void> {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      if ((await withRunner((runner) => deleteExpired(runner, BATCH))) < BATCH) return;
    }
  }
}
