import { ShardingError } from '@app/routing';
import type { EntityMetadata } from 'typeorm';

/** A `cross_tenant`, which does not say whose the row is. */
export function foreignTenant({ name }: Pick<EntityMetadata, 'name'>, why: string): ShardingError {
  return new ShardingError(
    'cross_tenant',
    `${name}: ${why}; a repository works for the tenant it is routed by`,
  );
}
