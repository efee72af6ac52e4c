import { Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { tenantOf } from './routing-context.js';
import { Tenancy } from './tenancy.js';
import type { NestMiddleware } from '@nestjs/common';

/** Asks for the tenant where the path requires one (`tenancy.required = "always"`). */
@Injectable()
export class RequiredTenantMiddleware implements NestMiddleware {
  constructor(
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(ApplicationConfig) private readonly application: ApplicationConfig,
  ) {}

  /** Rejects with the tenant's error; the framework hands it to the exception filters. */
  async use(request: object, _response: unknown, next: () => void): Promise<void> {
    const prefix = this.application.getGlobalPrefix(); // set after the providers are created
    if (this.tenancy.isRequired(request, prefix)) await tenantOf(request);
    next();
  }
}
