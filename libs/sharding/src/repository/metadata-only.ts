import { SelectQueryBuilder } from 'typeorm';
import { ShardingError } from '@app/routing';
import type { DataSource, QueryRunner } from 'typeorm';

/** What would send a statement to a database that nobody has routed to. */
const REFUSED = [
  'manager',
  'query',
  'sql',
  'transaction',
  'getRepository',
  'getTreeRepository',
  'createQueryRunner',
  'createEntityManager',
  'initialize',
  'destroy',
  'synchronize',
  'dropDatabase',
  'runMigrations',
  'undoLastMigration',
] as const;

/** A `DataSource` that knows the entities; query builders show theirs as `connection`, and nothing is sent by it. */
export function metadataOnly(source: DataSource): DataSource {
  const refused = (name: string) => ({
    get(): never {
      throw new ShardingError(
        'invalid_options',
        `${name} of a repository's connection is not available: use Shards or ShardDb, with a tenant condition of your own`,
      );
    },
  });
  const bound: DataSource = Object.create(source, {
    ...Object.fromEntries(REFUSED.map((name) => [name, refused(name)])),
    /** TypeORM makes its own queries by it, and runs them on the runner of the tenant's; without one they cannot run. */
    createQueryBuilder: { value: (runner?: QueryRunner) => new SelectQueryBuilder(bound, runner) },
  }) as DataSource;
  return bound;
}
