import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ShardingError } from '@app/routing';
import { Shards } from '@app/sharding';
import { handlerSubscriber } from './handler-subscriber.js';
import { marksOf } from './on-event.decorator.js';
import { Subscribers } from './subscribers.js';
import type { OnModuleInit } from '@nestjs/common';
import type { HandlerMethod } from './handler-subscriber.js';

type Provider = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the methods with `@OnEvent` of all providers. */
@Injectable()
export class HandlerDiscovery implements OnModuleInit {
  readonly #scanner = new MetadataScanner();

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(Subscribers) private readonly subscribers: Subscribers,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  /** @throws ShardingError `invalid_options` for names given twice, and for handlers of request-scoped providers */
  onModuleInit(): void {
    const seen = new Set<unknown>(); // a provider may stand under several tokens
    for (const provider of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const { metatype } = provider;
      if (typeof metatype !== 'function' || seen.has(provider.instance ?? metatype)) continue;
      seen.add(provider.instance ?? metatype);
      for (const method of this.#methodsOf(provider)) {
        this.subscribers.add(handlerSubscriber(method, this.shards));
      }
    }
  }

  #methodsOf(provider: Provider): HandlerMethod[] {
    const instance = provider.instance as Record<string, HandlerMethod['call']> | undefined;
    const prototype = prototypeOf(provider);
    if (!prototype) return [];
    return this.#scanner.getAllMethodNames(prototype).flatMap((method) =>
      marksOf(prototype[method]).map((mark) => {
        if (!instance || !provider.isDependencyTreeStatic()) throw scoped(mark.name);
        return { mark, call: (event, envelope) => instance[method]?.(event, envelope) };
      }),
    );
  }
}

function prototypeOf({ instance, metatype }: Provider): Record<string, unknown> | undefined {
  const of = instance ?? (metatype as { prototype?: unknown } | null)?.prototype;
  if (typeof of !== 'object' || of === null) return undefined;
  return (of === instance ? Object.getPrototypeOf(of) : of) as Record<string, unknown> | undefined;
}

function scoped(name: string): ShardingError {
  return new ShardingError(
    'invalid_options',
    `the event handler "${name}" is a method of a request-scoped provider: events have no request, so make it a singleton`,
  );
}
