import { ActionJournal } from './action-journal.js';
import { ActionTables } from './action-tables.js';
import { DirectoryTables } from './directory-tables.js';
import { FenceTables } from './fence-tables.js';
import { IdentityTables } from './identity-tables.js';
import { IdempotencyTables } from './idempotency-tables.js';
import { IncomingFences } from './incoming-fences.js';
import { MoveNews } from './move-news.js';
import { MoveSides } from './move-sides.js';
import { MoveTables } from './move-tables.js';
import { OutboxTables } from './outbox-tables.js';
import { SagaTables } from './saga-tables.js';
import { SlotFunctions } from './slot-functions.js';
import { SlotMapTables } from './slot-map-tables.js';
import type { MigrationInterface } from 'typeorm';

/** A migration of the library itself. Its name is recorded: it never changes. */
export interface FrameworkMigration extends MigrationInterface {
  readonly name: string;
}

const slotFunctions = new SlotFunctions();
const identityTables = new IdentityTables();
const moveSides = new MoveSides();
const fenceTables = new FenceTables();
const incomingFences = new IncomingFences();

/** Of actions, in order; on control for what is not sharded. */
const actions = [new OutboxTables(), new ActionTables(), new SagaTables(), new IdempotencyTables()];

/** What every shard needs, in order. */
export const SHARD_MIGRATIONS: readonly FrameworkMigration[] = [
  slotFunctions,
  identityTables,
  moveSides,
  fenceTables,
  incomingFences,
  ...actions,
];

/** What the control database needs, in order; a control database that is the only shard needs nothing more. */
export const CONTROL_MIGRATIONS: readonly FrameworkMigration[] = [
  slotFunctions,
  new DirectoryTables(),
  new SlotMapTables(),
  identityTables,
  new MoveTables(),
  moveSides,
  fenceTables,
  new MoveNews(),
  incomingFences,
  ...actions,
  new ActionJournal(),
];
