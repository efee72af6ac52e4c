import { ShardingError } from '@app/routing';
import { described, failureCode } from '../shards/database-failure.js';
import { fanOut } from '../shards/fan-out.js';
import { migrate } from './migrate.js';
import { migrationTargets, type MigrationTarget } from './migration-target.js';
import { differenceOf, migrationsTable, readApplied, readOnly, type Applied } from './read-applied.js';
import type { Database } from '../shards/database.js';
import type { ShardingSettings } from '../sharding.settings.js';

/** The databases of a target: they serve only what is migrated. The primary is first. */
type DatabasesOf = (target: Pick<MigrationTarget, 'shard'>) => readonly Database[];

interface BootMigrations {
  readonly settings: ShardingSettings;
  readonly databasesOf: DatabasesOf;
  readonly log: (line: string) => void;
  readonly warn: (line: string) => void;
}

/** How long a boot waits for one database: one that is slower is asked again before it serves. */
const BOOT_LIMIT_MS = 2000;
const WIDTH = 16;
const DEVELOPMENT = ['development', 'dev'];

/** Whether a boot migrates by itself. Never without a profile that says so, unless it is told to. */
function migratesAtBoot({ migrations, profile }: ShardingSettings): boolean {
  const { autoMigrate } = migrations;
  if (autoMigrate !== 'development') return autoMigrate === 'always';
  return profile !== undefined && DEVELOPMENT.includes(profile);
}

/**
 * Before the first request: migrates where the configuration says so, then refuses to boot while a database that answers
 * lacks migrations. One that does not answer stops no boot: it is looked at when it is first used, before it serves, and its
 * use is `migrations_pending` until somebody has migrated it. Looking reads only and is bounded.
 *
 * The framework's own are asked for where the application has migrations for that target, or where the library has migrated the
 * database before. Elsewhere nobody has chosen to have the database migrated by the library: shards with plain tables need
 * nothing of ours, and what needs the tables of the control database (the directory, the guard of the slot map) says so itself.
 *
 * @throws ShardingError `migrations_pending` naming targets and migrations, `migration_failed`
 */
export async function bootMigrations(boot: BootMigrations): Promise<void> {
  const { settings, log, warn, databasesOf } = boot;
  if (migratesAtBoot(settings)) await migrate(settings, log, { unreachable: 'skip' });
  const targets = await migrationTargets(settings);
  const outcomes = await fanOut(targets, WIDTH, async (target) => {
    const [primary] = databasesOf(target);
    const limitMs = Math.min(BOOT_LIMIT_MS, target.settings.connectTimeoutMs);
    return primary && problemOf(boot, target, { database: primary, limitMs });
  });
  const problems: string[] = [];
  for (const outcome of outcomes) {
    if (!outcome.ok) askBeforeUse(boot, outcome.shard);
    else if (outcome.value !== undefined) problems.push(outcome.value);
  }
  if (problems.length === 0) return;
  const text = `migrations are pending: ${problems.join('; ')}`;
  if (settings.migrations.pendingMigrations === 'warn') return warn(text);
  throw new ShardingError('migrations_pending', `${text}. ${REMEDY}`);
}

const REMEDY =
  'Run them (shardctl migrate, or migrate()) before the application starts; migrations.pending_migrations = "warn" starts all the same';

function askBeforeUse({ settings, databasesOf, warn }: BootMigrations, target: MigrationTarget): void {
  for (const database of databasesOf(target)) {
    database.firstContact.require(async (limitMs) => {
      const problem = await problemOf({ settings, warn }, target, { database, limitMs });
      if (problem === undefined) return;
      if (settings.migrations.pendingMigrations === 'warn') return warn(`migrations are pending: ${problem}`);
      throw new ShardingError(
        'migrations_pending',
        `${described(database.label)} lacks migrations: ${problem}. Run them (shardctl migrate, or migrate())`,
      );
    });
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Looks by the way of the pool, which is the one that serves: a `maintenance_url` that is out of order must not keep a
 * database from those that it answers.
 *
 * @returns `shard:x lacks A, B`; undefined where nothing is missing. @throws what connecting throws
 */
async function problemOf(
  { settings, warn }: Pick<BootMigrations, 'settings' | 'warn'>,
  target: MigrationTarget,
  { database, limitMs }: { readonly database: Database; readonly limitMs: number },
): Promise<string | undefined> {
  try {
    const table = target.own.length > 0 ? migrationsTable(settings) : undefined;
    const applied = await database.asPool('migrations', limitMs, (client) =>
      readOnly(client, () => readApplied(client, table)),
    );
    const pending = needed(target, applied);
    return pending.length === 0 ? undefined : `${target.name} lacks ${pending.join(', ')}`;
  } catch (error) {
    if (failureCode(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const text = `${target.name} does not let this role read which migrations are applied: grant select on them`;
    if (target.own.length > 0) return text;
    warn(text);
    return undefined;
  }
}

function needed(target: MigrationTarget, applied: Applied): readonly string[] {
  if (target.own.length === 0 && applied.framework === undefined) return [];
  return differenceOf(target, applied).pending;
}
