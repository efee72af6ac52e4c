import { ShardingError } from '@app/routing';

/** TypeORM's names of what writes. */
export const WRITE_NAMES = [
  'save',
  'insert',
  'update',
  'updateAll',
  'delete',
  'deleteAll',
  'remove',
  'softDelete',
  'softRemove',
  'restore',
  'recover',
  'upsert',
  'increment',
  'decrement',
  'clear',
] as const;

/** TypeORM's names of what reads and has no meaning over several databases. */
export const SINGLE_DATABASE_NAMES = ['query', 'createQueryBuilder', 'findAndCount', 'preload'] as const;

/**
 * Gives a class methods that its type does not have: whoever calls them through JavaScript gets a `ShardingError` before any
 * connection is taken.
 */
export function refuseMethods(prototype: object): void {
  for (const name of WRITE_NAMES) {
    define(prototype, name, () =>
      refused(
        'cross_shard_write',
        `${name}() is a write, and there are none across shards: use the tenant's repository`,
      ),
    );
  }
  for (const name of SINGLE_DATABASE_NAMES) {
    define(prototype, name, () =>
      refused(
        'cross_shard_unsupported',
        `${name}() is of one database: use Shards.each(), or find() and count()`,
      ),
    );
  }
}

function define(prototype: object, name: string, value: () => Promise<never>): void {
  Object.defineProperty(prototype, name, { value, configurable: true });
}

function refused(code: 'cross_shard_write' | 'cross_shard_unsupported', message: string): Promise<never> {
  return Promise.reject(new ShardingError(code, message));
}
