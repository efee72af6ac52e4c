import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { DEFAULT_CONCURRENCY } from './handler-subscriber.js';
import { Subscribers } from './subscribers.js';
import type { OnModuleInit, Type } from '@nestjs/common';
import type { EventPublisher } from './event-publisher.js';

/** Token of what stands in `outbox.publishers`. */
export const PUBLISHERS = Symbol.for('nestjs-sharding.publishers');

/** Makes the configured publishers get events. */
@Injectable()
export class Publishers implements OnModuleInit {
  constructor(
    @Inject(PUBLISHERS) private readonly given: readonly (EventPublisher | Type<EventPublisher>)[],
    @Inject(ModuleRef) private readonly modules: ModuleRef,
    @Inject(Subscribers) private readonly subscribers: Subscribers,
  ) {}

  /** @throws ShardingError `invalid_options` for a name given twice; what Nest throws for a class that nobody provides */
  onModuleInit(): void {
    for (const one of this.given) {
      const publisher = typeof one === 'function' ? this.modules.get(one, { strict: false }) : one;
      const { name, types, concurrency = DEFAULT_CONCURRENCY } = publisher;
      const deliver = (event: Parameters<EventPublisher['publish']>[0]) => publisher.publish(event);
      this.subscribers.add({ name, type: types, concurrency, deliver });
    }
  }
}
