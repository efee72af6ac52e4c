import { databasesOf } from '../cross/databases-of.js';
import { resolveExecution } from '../executor/action-settings.js';
import { Actions } from './actions.js';
import type { LentShards } from '@app/sharding/operator';

/** The actions of lent databases, for the command line. */
export function actionsOf({ named, control }: LentShards): Actions {
  return new Actions({ databases: databasesOf(named, control), limits: resolveExecution() });
}
