import { createParamDecorator } from '@nestjs/common';
import { currentTenant } from './routing-context.js';
import type { ExecutionContext, PipeTransform, Type } from '@nestjs/common';

/**
 * The tenant of the request, as a string, in a handler's parameter; pipes may follow. Under `runFor` it is the routing
 * key.
 *
 * @example list(\@Tenant() tenantId: string) { ... }
 */
export const Tenant: (...pipes: (PipeTransform | Type<PipeTransform>)[]) => ParameterDecorator =
  createParamDecorator((_data: undefined, context: ExecutionContext) => currentTenant(requestOf(context)));

function requestOf(context: ExecutionContext): object | undefined {
  switch (context.getType<'http' | 'rpc' | 'ws' | 'graphql'>()) {
    case 'http':
      return context.switchToHttp().getRequest<object>();
    case 'graphql':
      return context.getArgByIndex<{ req?: object } | undefined>(2)?.req;
    default:
      return undefined;
  }
}
