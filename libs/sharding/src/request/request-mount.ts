import { Inject, Injectable, RequestMethod } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { RequiredTenantMiddleware } from './required-tenant.middleware.js';
import { RoutingContext } from './routing-context.js';
import { Tenancy } from './tenancy.js';
import type { MiddlewareConsumer } from '@nestjs/common';

/** Puts the routing context in front of every route of the application, after the body parsers. */
@Injectable()
export class RequestMount {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(RoutingContext) private readonly context: RoutingContext,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  /** The context goes to the adapter itself: it must hold for every path, and is on the way of every request. */
  mount(consumer: MiddlewareConsumer): void {
    this.host.httpAdapter.use((request: object, _response: unknown, next: () => void) =>
      this.context.runRequest(request, next),
    );
    if (this.tenancy.requiresAlways) {
      consumer.apply(RequiredTenantMiddleware).forRoutes({ path: '{*path}', method: RequestMethod.ALL });
    }
  }
}
