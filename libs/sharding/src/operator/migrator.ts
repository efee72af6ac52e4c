import type { MigrateOptions } from '../migrations/migrate.js';
import type { MigrateDownOptions } from '../migrations/migrate-down.js';
import type { MigrationLog } from '../migrations/migration-limits.js';
import type { ShardingSettings } from '../sharding.settings.js';

/** What runs migrations without an application; nothing is logged but by the caller. TypeORM and NestJS are loaded where something is to be changed. */
export async function migrator() {
  const { migrateWith } = await import('../migrations/migrate.js');
  const { migrationStatus } = await import('../migrations/migration-status.js');
  const { MigrationFailed } = await import('../migrations/target-result.js');
  const load = async () => {
    await silenceNest();
    return import('../migrations/migrate-held.js');
  };
  return {
    migrate: (settings: ShardingSettings, log: MigrationLog, options: MigrateOptions = {}) =>
      migrateWith(load, { settings, log, options }),
    migrateDown: async (settings: ShardingSettings, log: MigrationLog, options?: MigrateDownOptions) => {
      await silenceNest();
      const { migrateDown } = await import('../migrations/migrate-down.js');
      return migrateDown(settings, log, options);
    },
    migrationStatus,
    MigrationFailed,
  };
}

async function silenceNest(): Promise<void> {
  const { Logger } = await import('../logger.js');
  Logger.overrideLogger(false);
}
