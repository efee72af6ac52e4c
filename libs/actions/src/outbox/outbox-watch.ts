import { Inject, Injectable } from '@nestjs/common';
import { ShardFacts, Shards } from '@app/sharding';
import { OUTBOX_SETTINGS } from './outbox-settings.js';
import { readStatus } from './outbox-status.js';
import { Wake, untilBeat } from './wake.js';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Shard } from '@app/sharding';
import type { OutboxSettings } from './outbox-settings.js';
import type { OutboxStatus } from './outbox-status.js';

const LIMIT_MS = 5000;
/** What was read so many times ago is not told any more: the shard does not answer. */
const STALE_TIMES = 3;

interface Seen {
  readonly status: OutboxStatus;
  /** On the clock of `performance.now()`. */
  readonly at: number;
}

/** Looks now and then how much waits on each shard, for metrics and health; in every process, also without a relay. */
@Injectable()
export class OutboxWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  @Inject(Shards) private readonly shards!: Shards;
  @Inject(ShardFacts) private readonly facts!: ShardFacts;
  @Inject(OUTBOX_SETTINGS) private readonly settings!: OutboxSettings;
  readonly #seen = new Map<string, Seen>();
  readonly #loops: { readonly wake: Wake; readonly ended: Promise<void> }[] = [];
  #forget: readonly (() => void)[] = [];
  #stopping = false;

  onApplicationBootstrap(): void {
    const fact = (name: string, help: string, of: (status: OutboxStatus) => number) =>
      this.facts.add({ name, help, value: (shard) => this.#known(shard, of) });
    this.#forget = [
      fact('outbox_depth', 'Events that wait, counted up to 10000.', ({ depth }) => depth),
      fact('outbox_lag_seconds', 'Age of the oldest event that waits.', ({ lagSeconds }) => lagSeconds),
      fact('outbox_dead_letters', 'Events that nobody could take, counted up to 10000.', ({ dead }) => dead),
      fact(
        'sagas_stuck',
        'Sagas that a compensation has left stuck, counted up to 10000.',
        (s) => s.stuckSagas,
      ),
    ];
    for (const shard of this.shards.all()) {
      const wake = new Wake();
      this.#loops.push({ wake, ended: this.#watch(shard, wake) });
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopping = true;
    for (const forget of this.#forget) forget();
    for (const { wake } of this.#loops) wake.wake();
    await Promise.all(this.#loops.map(({ ended }) => ended));
  }

  async #watch(shard: Shard, wake: Wake): Promise<void> {
    while (!this.#stopping) {
      const db = shard.primary();
      const status = await db.then((open) => readStatus(open, LIMIT_MS)).catch(() => undefined); // the relay tells why
      if (status) this.#seen.set(shard.name, { status, at: performance.now() });
      await wake.pause(untilBeat(this.settings.statusMs));
    }
  }

  #known(shard: string, of: (status: OutboxStatus) => number): number | undefined {
    const seen = this.#seen.get(shard);
    const tooOld = STALE_TIMES * this.settings.statusMs + LIMIT_MS;
    return seen && performance.now() - seen.at < tooOld ? of(seen.status) : undefined;
  }
}
