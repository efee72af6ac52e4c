import { readColumnFacts, type ColumnFacts } from './read-columns.js';
import { readConstraints, type ConstraintFacts } from './read-constraints.js';
import { readForeignKeys, type ForeignKeyFacts } from './read-foreign-keys.js';
import { readHooks, type HookFacts } from './read-hooks.js';
import { readIndexes, type IndexFacts } from './read-indexes.js';
import { readRelations, type RelationFacts } from './read-relations.js';
import { readSequences, type SequenceFacts } from './read-sequences.js';
import { readServer, type ServerFacts } from './read-server.js';
import { readTypes, type TypeFacts } from './read-types.js';
import { mayBeReplica } from './replica-role.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

/** What the catalogs of one side say. */
export interface SideFacts {
  readonly server: ServerFacts;
  readonly relations: readonly RelationFacts[];
  readonly columns: readonly ColumnFacts[];
  readonly types: readonly TypeFacts[];
  readonly constraints: readonly ConstraintFacts[];
  readonly indexes: readonly IndexFacts[];
  readonly hooks: readonly HookFacts[];
  readonly foreignKeys: readonly ForeignKeyFacts[];
  readonly sequences: readonly SequenceFacts[];
  readonly mayBeReplica: boolean;
}

/** One statement for each kind, whatever the number of tables. */
export async function readSide(session: MoveSession, tables: readonly MovedTable[]): Promise<SideFacts> {
  return {
    server: await readServer(session),
    relations: await readRelations(session, tables),
    columns: await readColumnFacts(session, tables),
    types: await readTypes(session, tables),
    constraints: await readConstraints(session, tables),
    indexes: await readIndexes(session, tables),
    hooks: await readHooks(session, tables),
    foreignKeys: await readForeignKeys(session, tables),
    sequences: await readSequences(session, tables),
    mayBeReplica: await mayBeReplica(session),
  };
}
