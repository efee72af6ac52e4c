import type { DataSource, QueryRunner } from 'typeorm';
import type { FrameworkMigration } from './framework-migrations.js';

/**
 * Applies what is missing, one transaction each, recorded in `_sharding_migrations`. Migrators that run at the same time
 * wait for each other inside their transactions, so a pooler in transaction mode will do.
 *
 * @returns the names of those applied by this call
 */
export async function applyFramework(
  source: DataSource,
  migrations: readonly FrameworkMigration[],
): Promise<string[]> {
  const runner = source.createQueryRunner();
  try {
    const known = await recorded(runner);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (known.has(migration.name)) continue;
      if (await applyOne(runner, migration)) applied.push(migration.name);
    }
    return applied;
  } finally {
    await runner.release();
  }
}

/** False where another migrator was faster. */
async function applyOne(runner: QueryRunner, migration: FrameworkMigration): Promise<boolean> {
  await runner.startTransaction('READ COMMITTED'); // sees what those before it have committed
  try {
    await waitForOthers(runner);
    await createTable(runner);
    const isNew = await record(runner, migration.name);
    if (isNew) await migration.up(runner);
    await runner.commitTransaction();
    return isNew;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined); // the first error says more
    throw error;
  }
}

/** The names recorded in the database; none before the first migration. Writes nothing. */
async function recorded(runner: QueryRunner): Promise<Set<string>> {
  const [table] = (await runner.query(`select to_regclass('_sharding_migrations') as found`)) as {
    found: unknown;
  }[];
  if (table?.found === null) return new Set();
  const rows = (await runner.query('select name from _sharding_migrations')) as { name: string }[];
  return new Set(rows.map(({ name }) => name));
}

async function waitForOthers(runner: QueryRunner): Promise<void> {
  await runner.query(`select pg_advisory_xact_lock(hashtextextended('_sharding_migrations', 0))`);
}

async function createTable(runner: QueryRunner): Promise<void> {
  await runner.query(`create table if not exists _sharding_migrations (
    name text primary key,
    applied_at timestamptz not null default now())`);
  await runner.query(`comment on table _sharding_migrations is
    'Migrations of nestjs-sharding itself that are applied here. Written by its migrator.'`);
}

async function record(runner: QueryRunner, name: string): Promise<boolean> {
  const rows = (await runner.query(
    'insert into _sharding_migrations (name) values ($1) on conflict do nothing returning name',
    [name],
  )) as unknown[];
  return rows.length > 0;
}
