import { DataSource } from 'typeorm';
import { ShardingError } from '@app/routing';
import { applyFramework } from './framework/apply-framework.js';
import { CONTROL_MIGRATIONS, SHARD_MIGRATIONS } from './framework/framework-migrations.js';
import { Database } from '../shards/database.js';
import { failureCode } from '../shards/database-failure.js';
import type { FrameworkMigration } from './framework/framework-migrations.js';
import type { MigrationList } from '../typeorm.options.js';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** One line for the operator, always with `target=`. */
export type MigrationLog = (line: string) => void;

interface Target {
  readonly database: DatabaseSettings;
  readonly framework: readonly FrameworkMigration[];
  readonly migrations: MigrationList;
}

/**
 * Runs the migrations on every target: control, then the shards in declaration order; on each the library's own come
 * first. Stops at the first failure; what is already applied is skipped, so the same call again goes on where it
 * stopped. One transaction per migration.
 *
 * @throws ShardingError `migration_failed` naming the target
 */
export async function migrate(settings: ShardingSettings, log: MigrationLog): Promise<void> {
  const targets = targetsOf(settings);
  for (const [index, target] of targets.entries()) {
    const name = target.database.target;
    try {
      const applied = await migrateTarget(settings, target);
      log(`target=${name} ${applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`}`);
    } catch (cause) {
      const rest = targets.slice(index + 1).map(({ database }) => database.target);
      log(`target=${name} failed (${failureCode((cause as Error).cause ?? cause) ?? (cause as Error).name})`);
      for (const missed of rest) log(`target=${missed} not attempted`);
      throw new ShardingError(
        'migration_failed',
        `the migrations of ${name} failed; mend the cause and run again: targets before it are skipped`,
        { cause },
      );
    }
  }
}

function targetsOf({ control, shards, unsharded, migrations }: ShardingSettings): Target[] {
  const ownOfControl = unsharded ? [...migrations.control, ...migrations.shards] : migrations.control;
  const onControl = { framework: CONTROL_MIGRATIONS, migrations: ownOfControl };
  const onShards = { framework: SHARD_MIGRATIONS, migrations: migrations.shards };
  return [
    ...(control ? [{ database: control, ...onControl }] : []),
    ...(unsharded ? [] : shards.map(({ primary }) => ({ database: primary, ...onShards }))),
  ];
}

async function migrateTarget({ typeorm }: ShardingSettings, target: Target): Promise<string[]> {
  const { maintenanceUrl, ...settings } = target.database;
  const { options, subscribers } = typeorm;
  const url = maintenanceUrl ?? settings.url;
  const pooler = maintenanceUrl ? 'none' : settings.pooler;
  const create = typeorm.createDataSource ?? ((_target, _role, given) => new DataSource(given));
  const createDataSource: typeof create = (name, role, given) =>
    create(name, role, { ...given, migrations: [...target.migrations] });
  const database = new Database({
    settings: { ...settings, url, pooler, poolSize: 1, statementTimeoutMs: 0, idleInTransactionTimeoutMs: 0 },
    typeorm: { options, subscribers, shardEntities: [], controlEntities: [], createDataSource },
    entities: [],
  });
  try {
    const source = await database.open();
    const framework = await applyFramework(source, target.framework);
    const own = source.migrations.length > 0 ? await source.runMigrations({ transaction: 'each' }) : [];
    return [...framework, ...own.map(({ name }) => name)];
  } finally {
    await database.close(0);
  }
}
