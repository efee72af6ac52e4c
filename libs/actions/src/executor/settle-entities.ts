import type { PlacedChange } from '../plan/placed-plan.js';
import type { WrittenRow } from '../rows/write-rows.js';

/** Once they are committed the entities say what is stored: columns that the database has set, and the next version. */
export function settleEntities(changes: readonly PlacedChange[], written: readonly WrittenRow[] = []): void {
  for (const [index, { entity, metadata, operation }] of changes.entries()) {
    const { driver } = metadata.connection;
    for (const [name, value] of Object.entries(written[index] ?? {})) {
      const column = metadata.findColumnWithDatabaseName(name);
      column?.setEntityValue(entity, driver.prepareHydratedValue(value, column));
    }
    const { versionColumn } = metadata;
    const version: unknown = versionColumn?.getEntityValue(entity);
    if (operation.kind === 'update') versionColumn?.setEntityValue(entity, Number(version) + 1);
    if (operation.kind === 'insert' && version === undefined) versionColumn?.setEntityValue(entity, 1);
  }
}
