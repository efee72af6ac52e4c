import { Inject, Injectable, RequestMethod } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { cancelledOnDisconnect } from './disconnect.js';
import { RequiredTenantMiddleware } from './required-tenant.middleware.js';
import { RoutingContext } from './routing-context.js';
import { SessionInterceptor } from './session/session.interceptor.js';
import { carrySession } from './session/session-response.js';
import { Tenancy } from './tenancy.js';
import type { ServerResponse } from 'node:http';
import type { MiddlewareConsumer } from '@nestjs/common';

type Step = (request: object, response: ServerResponse, next: () => void) => void;

/** What is on the way of every request beside the routing context. */
export interface MountOptions {
  readonly cancelOnDisconnect: boolean;
}

/** Puts the routing context in front of every route of the application, after the body parsers. */
@Injectable()
export class RequestMount {
  @Inject(ApplicationConfig) private readonly application!: ApplicationConfig;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(RoutingContext) private readonly context: RoutingContext,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  /** The context goes to the adapter itself: it must hold for every path, and is on the way of every request. */
  mount(consumer: MiddlewareConsumer, { cancelOnDisconnect }: MountOptions): void {
    const routed = this.#withSession((request, _response, next) => this.context.runRequest(request, next));
    const step: Step = cancelOnDisconnect
      ? (request, response, next) => cancelledOnDisconnect(response, () => routed(request, response, next))
      : routed;
    this.host.httpAdapter.use(step);
    if (this.tenancy.requiresAlways) {
      consumer.apply(RequiredTenantMiddleware).forRoutes({ path: '{*path}', method: RequestMethod.ALL });
    }
  }

  /** Sessions cost nothing where none are carried. */
  #withSession(routed: Step): Step {
    const { sessions } = this.context;
    if (!sessions) return routed;
    this.application.addGlobalInterceptor(new SessionInterceptor(this.context, sessions));
    return (request, response, next) => {
      carrySession(sessions, { request, response, marks: this.context.marksOf(request) });
      routed(request, response, next);
    };
  }
}
