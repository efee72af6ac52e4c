import { Inject, Injectable } from '@nestjs/common';
import { Shards } from '@app/sharding';
import { OutboxSignal } from './outbox-signal.js';
import { OUTBOX_SETTINGS } from './outbox-settings.js';
import { RelayLog } from './relay-log.js';
import { ShardRelay } from './shard-relay.js';
import { Subscribers } from './subscribers.js';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { OutboxSettings } from './outbox-settings.js';

/** The relays of this process: one for each shard, each with its own loop, so that none waits for another. */
@Injectable()
export class OutboxRelays implements OnApplicationBootstrap, BeforeApplicationShutdown {
  @Inject(Shards) private readonly shards!: Shards;
  @Inject(Subscribers) private readonly subscribers!: Subscribers;
  @Inject(OutboxSignal) private readonly signal!: OutboxSignal;
  @Inject(OUTBOX_SETTINGS) private readonly settings!: OutboxSettings;
  readonly #relays = new Map<string, ShardRelay>();
  #unsubscribe: () => void = () => undefined;

  /** Once every provider has added its handlers. */
  onApplicationBootstrap(): void {
    const { settings, subscribers } = this;
    if (settings.relay === 'off') return;
    for (const shard of this.shards.all()) {
      const relay = new ShardRelay({ shard, subscribers, settings, log: new RelayLog(shard.name) });
      this.#relays.set(shard.name, relay);
      relay.start();
    }
    this.#unsubscribe = this.signal.subscribe((shard) => this.#relays.get(shard)?.wake());
  }

  /** Handlers under way get `shutdownMs`; other processes may take over at once. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([...this.#relays.values()].map((relay) => relay.stop()));
    this.#relays.clear();
  }
}
