import { ShardingError } from '@app/routing';
import { CONTROL_MIGRATIONS, SHARD_MIGRATIONS } from './framework/framework-migrations.js';
import { loadMigrations, type NamedMigration } from './migration-list.js';
import type { FrameworkMigration } from './framework/framework-migrations.js';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** A database and what should be applied there: the framework's first, then the application's. */
export interface MigrationTarget {
  /** `control` or `shard:<name>`. */
  readonly name: string;
  /** Undefined for the control database. */
  readonly shard: string | undefined;
  readonly settings: DatabaseSettings;
  readonly framework: readonly FrameworkMigration[];
  readonly own: readonly NamedMigration[];
}

/** Which targets; all by default. */
export interface TargetChoice {
  /** This shard only. */
  readonly shard?: string;
  /** The control database only. */
  readonly only?: 'control';
}

/**
 * Control first, then the shards in declaration order. Without shards the control database is the only target, and has
 * the migrations of both.
 *
 * @throws ShardingError `invalid_options` for lists that cannot be loaded and a choice of nothing, `unknown_shard`
 */
export async function migrationTargets(
  settings: ShardingSettings,
  choice: TargetChoice = {},
): Promise<MigrationTarget[]> {
  const { control, shards, unsharded, migrations, topology } = settings;
  const ofShards = await loadMigrations(migrations.shards, 'migrations.shards');
  const onControl = unsharded ? [...migrations.control, ...migrations.shards] : migrations.control;
  const own = await loadMigrations(onControl, 'migrations.control');
  const all: MigrationTarget[] = [
    ...(control
      ? [{ name: 'control', shard: undefined, settings: control, framework: CONTROL_MIGRATIONS, own }]
      : []),
    ...(unsharded ? [] : shards).map(({ name, primary }) => ({
      name: primary.target,
      shard: name,
      settings: primary,
      framework: SHARD_MIGRATIONS,
      own: ofShards,
    })),
  ];
  return chosen(all, choice, (name) => topology.byName(name).name);
}

function chosen(
  all: readonly MigrationTarget[],
  { shard, only }: TargetChoice,
  known: (shard: string) => string,
): MigrationTarget[] {
  if (shard !== undefined && only !== undefined) {
    throw new ShardingError('invalid_options', `shard and only = "control" exclude each other`);
  }
  const name = shard === undefined ? undefined : known(shard);
  const targets = all.filter(
    (target) => (name === undefined || target.shard === name) && (!only || target.shard === undefined),
  );
  if (targets.length > 0) return targets;
  const what = only ? 'there is no control database' : 'the control database is the only target';
  throw new ShardingError('invalid_options', `${what}; nothing can be migrated by that choice`);
}

/**
 * Migrations need a session of their own.
 *
 * @throws ShardingError `invalid_options` naming the targets that are reached through a transaction-mode pooler only
 */
export function assertSessions(targets: readonly MigrationTarget[]): void {
  const pooled = targets.filter(
    ({ settings }) => settings.pooler === 'transaction' && !settings.maintenanceUrl,
  );
  if (pooled.length === 0) return;
  const names = pooled.map(({ name }) => name).join(', ');
  throw new ShardingError(
    'invalid_options',
    `${names}: migrations hold a lock in their session, which a transaction-mode pooler does not keep; set maintenance_url, a direct connection`,
  );
}
