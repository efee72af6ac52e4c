import { Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { tenantOf, RoutingContext } from './routing-context.js';
import { Tenancy } from './tenancy.js';
import type { NestMiddleware } from '@nestjs/common';

/** Runs the rest of each request inside its routing context; asks for the tenant only where the path requires it. */
@Injectable()
export class RoutingContextMiddleware implements NestMiddleware {
  constructor(
    @Inject(RoutingContext) private readonly context: RoutingContext,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(ApplicationConfig) private readonly application: ApplicationConfig,
  ) {}

  /** Rejects with the tenant's error where one is required; the framework hands it to the exception filters. */
  use(request: object, _response: unknown, next: () => void): void | Promise<void> {
    return this.context.runRequest(request, () => {
      const prefix = this.application.getGlobalPrefix(); // set after the providers are created
      return this.tenancy.isRequired(request, prefix) ? this.withTenant(request, next) : next();
    });
  }

  private async withTenant(request: object, next: () => void): Promise<void> {
    await tenantOf(request);
    next();
  }
}
