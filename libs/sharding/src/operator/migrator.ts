/** What runs migrations without an application; nothing is logged but by the caller. Loads TypeORM and NestJS. */
export async function migrator() {
  const { Logger } = await import('../logger.js');
  const { migrate } = await import('../migrations/migrate.js');
  const { migrateDown } = await import('../migrations/migrate-down.js');
  const { migrationStatus } = await import('../migrations/migration-status.js');
  const { MigrationFailed } = await import('../migrations/target-result.js');
  Logger.overrideLogger(false);
  return { migrate, migrateDown, migrationStatus, MigrationFailed };
}
