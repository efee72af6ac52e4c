import { Logger } from '@nestjs/common';
import { failureText } from './failure-text.js';

const UNDEFINED_TABLE = '42P01';
/** Dead letters of a burst are counted, not told one by one. */
const TELL_EACH_MS = 10_000;

/** What the relay of one shard tells: when trouble begins and ends, and of dead letters. */
export class RelayLog {
  readonly #logger = new Logger('OutboxRelay');
  #trouble = false;
  #dead = 0;
  #toldAt = -Infinity;

  constructor(private readonly shard: string) {}

  trouble(error: unknown): void {
    if (this.#trouble) return;
    this.#trouble = true;
    const failure = failureText(error);
    const hint = failure.includes(UNDEFINED_TABLE) ? ': apply the migrations (shardctl migrate up)' : '';
    this.#logger.warn(`the events of shard "${this.shard}" are not delivered now (${failure})${hint}`);
  }

  well(): void {
    this.#trouble = false;
    this.#logger.log(`the events of shard "${this.shard}" are delivered again`);
  }

  dead(failure: string): void {
    this.#dead++;
    if (performance.now() - this.#toldAt < TELL_EACH_MS) return;
    const count = this.#dead === 1 ? 'an event is a dead letter' : `${this.#dead} events are dead letters`;
    this.#logger.error(`${count} on shard "${this.shard}" (${failure}): see shardctl outbox dead`);
    this.#toldAt = performance.now();
    this.#dead = 0;
  }
}
