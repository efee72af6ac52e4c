import { Migration, MigrationExecutor } from 'typeorm';
import { withLockRetries, type LockPatience } from './lock-retries.js';
import { setLockTimeout, withoutTransaction } from './without-transaction.js';
import type { QueryRunner } from 'typeorm';
import type { FrameworkMigration } from './framework/framework-migrations.js';
import type { NamedMigration } from './migration-list.js';
import type { MigrationSession } from './migration-session.js';

/** One change of a database, with its record. */
export interface Step {
  readonly name: string;
  /** `none`: the step cannot run in a transaction. */
  readonly transaction: 'own' | 'none';
  run(runner: QueryRunner): Promise<void>;
}

/** A migration of the library itself, recorded in a table of its own. */
export function frameworkStep(migration: FrameworkMigration): Step {
  return {
    name: migration.name,
    transaction: 'own',
    async run(runner) {
      await runner.query(`create table if not exists _sharding_migrations (
        name text primary key,
        applied_at timestamptz not null default now())`);
      await runner.query(`comment on table _sharding_migrations is
        'Migrations of nestjs-sharding itself that are applied here. Written by its migrator.'`);
      await runner.query('grant select on _sharding_migrations to public'); // any role that boots reads it
      await migration.up(runner);
      await runner.query('insert into _sharding_migrations (name) values ($1)', [migration.name]);
    },
  };
}

/** A migration of the application, recorded where TypeORM does. */
export function ownStep(named: NamedMigration): Step {
  return {
    name: named.name,
    transaction: transactionOf(named),
    async run(runner) {
      await new MigrationExecutor(runner.connection, runner).executeMigration(recordOf(named));
    },
  };
}

/** Takes a migration of the application back. */
export function undoStep(named: NamedMigration): Step {
  return {
    name: named.name,
    transaction: transactionOf(named),
    async run(runner) {
      await named.migration.down(runner);
      await new MigrationExecutor(runner.connection, runner).deleteMigration(recordOf(named));
    },
  };
}

function recordOf({ name, timestamp, migration }: NamedMigration): Migration {
  return new Migration(undefined, timestamp, name, migration);
}

function transactionOf({ migration }: NamedMigration): Step['transaction'] {
  return migration.transaction === false ? 'none' : 'own';
}

/** Runs one step. In its transaction it is done as a whole, or not at all, and is tried again when it meets a lock. */
export async function applyStep(
  { runner }: MigrationSession,
  step: Step,
  patience: LockPatience,
): Promise<void> {
  if (step.transaction === 'none') return withoutTransaction(runner, patience, () => step.run(runner));
  await withLockRetries(patience, async () => {
    await runner.startTransaction('READ COMMITTED');
    try {
      await setLockTimeout(runner, patience.lockTimeoutMs);
      await step.run(runner);
      await runner.commitTransaction();
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined); // the first error says more
      throw error;
    }
  });
}
