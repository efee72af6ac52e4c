import { Inject, Injectable, RequestMethod } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { ShardingError } from '@app/routing';
import { cancelledOnDisconnect } from './disconnect.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { idempotentHandlers } from './idempotency/idempotent-handlers.js';
import { CONTROL_DATA_SOURCE } from './inject-control.decorator.js';
import { RequiredTenantMiddleware } from './required-tenant.middleware.js';
import { RoutingContext } from './routing-context.js';
import { SessionInterceptor } from './session/session.interceptor.js';
import { carrySession } from './session/session-response.js';
import { Tenancy } from './tenancy.js';
import type { ServerResponse } from 'node:http';
import type { MiddlewareConsumer, NestInterceptor } from '@nestjs/common';

type Step = (request: object, response: ServerResponse, next: () => void) => void;

/** What is on the way of every request beside the routing context. */
export interface MountOptions {
  readonly cancelOnDisconnect: boolean;
}

/** Puts the routing context in front of every route of the application, after the body parsers. */
@Injectable()
export class RequestMount {
  @Inject(ApplicationConfig) private readonly application!: ApplicationConfig;
  @Inject(ModulesContainer) private readonly modules!: ModulesContainer;
  @Inject(IdempotencyInterceptor) private readonly idempotency!: IdempotencyInterceptor;
  @Inject(CONTROL_DATA_SOURCE) private readonly control: object | undefined;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(RoutingContext) private readonly context: RoutingContext,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  /** The context goes to the adapter itself: it must hold for every path, and is on the way of every request. */
  mount(consumer: MiddlewareConsumer, { cancelOnDisconnect }: MountOptions): void {
    this.#mountIdempotency();
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
    this.#first(new SessionInterceptor(this.context, sessions)); // asks once everything is committed
    return (request, response, next) => {
      carrySession(sessions, { request, response, marks: this.context.marksOf(request) });
      routed(request, response, next);
    };
  }

  /** Costs nothing where no handler asks for it. */
  #mountIdempotency(): void {
    const handlers = idempotentHandlers(this.modules);
    if (handlers.length === 0) return;
    if (!this.control && handlers.some(({ store }) => store === 'control')) {
      throw new ShardingError(
        'invalid_topology',
        '@Idempotent({ store: "control" }) needs a control database: set [database] primary_url',
      );
    }
    this.#first(this.idempotency);
  }

  /** In front of all others: what is mounted last is outermost. */
  #first(interceptor: NestInterceptor): void {
    this.application.getGlobalInterceptors().unshift(interceptor);
  }
}
