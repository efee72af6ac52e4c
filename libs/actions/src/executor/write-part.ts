import { appendEvents } from '../outbox/append-events.js';
import { writeRows } from '../rows/write-rows.js';
import type { ShardDb } from '@app/sharding';
import type { PlacedChange, PlacedPart } from '../plan/placed-plan.js';
import type { WrittenRow } from '../rows/write-rows.js';

/** Writes the rows and events of one shard, in the transaction of `tx`; tells what the database has set, by change. */
export async function writePart(tx: ShardDb, { changes, events }: PlacedPart): Promise<WrittenRow[]> {
  const written = await writeRows(
    tx,
    changes.map(({ operation }) => operation),
  );
  await appendEvents(tx, events);
  return written;
}

/** Once they are committed the entities say what is stored: generated columns, and the next version. */
export function settleEntities(changes: readonly PlacedChange[], written: readonly WrittenRow[]): void {
  for (const [index, { entity, metadata, operation }] of changes.entries()) {
    const { driver } = metadata.connection;
    for (const [name, value] of Object.entries(written[index] ?? {})) {
      const column = metadata.findColumnWithDatabaseName(name);
      column?.setEntityValue(entity, driver.prepareHydratedValue(value, column));
    }
    const { versionColumn: version } = metadata;
    if (!version || operation.kind === 'delete') continue;
    const loaded: unknown = operation.kind === 'insert' ? 0 : version.getEntityValue(entity);
    if (operation.kind === 'insert' && version.getEntityValue(entity) !== undefined) continue;
    version.setEntityValue(entity, Number(loaded) + 1);
  }
}
