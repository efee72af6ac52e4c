// oxlint-disable no-restricted-imports -- parts of a move are nobody's interface; their tests reach them here alone
import pg from 'pg';
import { TestCluster } from '@test/support';
import { sessionOf, type MoveSession } from '../../../libs/sharding/src/moves/move-session.js';

export { movedTables } from '../../../libs/sharding/src/moves/tables/read-tables.js';
export type { MoveSession } from '../../../libs/sharding/src/moves/move-session.js';
export type { MovedTable } from '../../../libs/sharding/src/moves/tables/moved-table.js';

export const SIDES = ['source', 'destination'] as const;
export type Side = (typeof SIDES)[number];

const RESET = `do $$ begin
    execute (select string_agg(format('drop schema %I cascade', nspname), ';') from pg_namespace
      where nspname !~ '^(pg_|information_schema$)');
  end $$; create schema public`;

/** Two databases on the shared server, each with a session of a mover. */
export interface Pair extends Readonly<Record<Side, MoveSession>> {
  /** URLs of the databases. */
  readonly urls: Readonly<Record<Side, string>>;
  /** Runs statements on one side, or on both, as the superuser. */
  run(where: Side | 'both', sql: string): Promise<void>;
  /** Empties both. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export async function openPair(): Promise<Pair> {
  const cluster = TestCluster.attach();
  const urls = {
    source: await cluster.createDatabase({ label: 'source' }),
    destination: await cluster.createDatabase({ label: 'destination' }),
  };
  const clients: pg.Client[] = [];
  const connect = async (url: string): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url });
    clients.push(client);
    await client.connect();
    return client;
  };
  const admins = { source: await connect(urls.source), destination: await connect(urls.destination) };
  const run: Pair['run'] = async (where, sql) => {
    for (const side of where === 'both' ? SIDES : [where]) await admins[side].query(sql);
  };
  return {
    urls,
    source: await sessionOf(await connect(urls.source)),
    destination: await sessionOf(await connect(urls.destination)),
    run,
    reset: () => run('both', RESET),
    close: async () => {
      for (const client of clients) await client.end();
      for (const url of Object.values(urls)) await cluster.dropDatabase(url);
    },
  };
}
