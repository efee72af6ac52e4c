import { ShardingError } from '@app/routing';
import { tenantColumnOf } from './tenant-conditions.js';
import type { EntityMetadata } from 'typeorm';
import type { Tenant } from './tenant-conditions.js';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/**
 * How the tenants of an entity are written, where PostgreSQL takes several spellings for one value: `7` and `07` are two
 * routing keys, but one integer. Undefined where equal means the same text.
 */
export function tenantSpelling(metadata: EntityMetadata): RegExp | undefined {
  const column = metadata.findColumnWithPropertyPath(tenantColumnOf(metadata) ?? '');
  const type = column && metadata.connection?.driver.normalizeType(column);
  if (type === 'uuid') return UUID;
  return type && /int/.test(type) ? INTEGER : undefined;
}

/** @throws ShardingError `invalid_routing_key` */
export function assertSpelling(tenant: Tenant, spelling: RegExp, entity: string): void {
  if (spelling.test(String(tenant))) return;
  throw new ShardingError(
    'invalid_routing_key',
    `the routing key is not as the tenant column of ${entity} gives it back: an integer without leading zeros, or a UUID in lower case`,
  );
}
