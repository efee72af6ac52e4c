import { noJournal } from './action-databases.js';
import { Journal } from './journal.js';
import type { DataSource } from 'typeorm';
import type { Shard } from '@app/sharding';
import type { ActionDatabases } from './action-databases.js';

/** The databases of actions, from shards by name and the control database, where there is one. */
export function databasesOf(
  named: (name: string) => Shard,
  control: DataSource | undefined,
): ActionDatabases {
  const journal = control && new Journal(control);
  return {
    get journal() {
      if (!journal) throw noJournal();
      return journal;
    },
    shard: async (name) => named(name).primary(),
  };
}
