// oxlint-disable no-restricted-imports -- parts of a move are nobody's interface; their tests reach them here alone
import pg from 'pg';
import { TestCluster } from '@test/support';
import { preflight } from '../../../libs/sharding/src/moves/preflight/preflight.js';
import { movedTables } from '../../../libs/sharding/src/moves/tables/read-tables.js';
import { sessionOf, type MoveSession } from '../../../libs/sharding/src/moves/move-session.js';

export { movedTables, preflight };
export { rowModeOf } from '../../../libs/sharding/src/moves/preflight/row-modes.js';
export type { MoveSession } from '../../../libs/sharding/src/moves/move-session.js';
export type { MovedTable } from '../../../libs/sharding/src/moves/tables/moved-table.js';

/** The database a URL names. */
export const databaseOf = (url: string): string => new URL(url).pathname.slice(1);

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
  /** Clients of the superuser. */
  readonly admins: Readonly<Record<Side, pg.Client>>;
  /** A further session of a mover. */
  again(side: Side): Promise<MoveSession>;
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
    admins,
    again: async (side) => sessionOf(await connect(urls[side])),
    reset: () => run('both', RESET),
    close: async () => {
      for (const client of clients) await client.end();
      for (const url of Object.values(urls)) await cluster.dropDatabase(url);
    },
  };
}

export interface Judged {
  readonly tables?: readonly string[];
  readonly keyColumn?: string;
  readonly keys?: readonly string[];
  readonly slots?: readonly number[];
  readonly keyKind?: 'text' | 'integer';
  readonly kept?: readonly string[];
  readonly ownCopy?: boolean;
  readonly embeddedIds?: readonly string[];
  readonly sessions?: Partial<Record<Side, MoveSession>>;
}

/** What preflight finds for a move of `acme`, one line each: `error key: public.t: ...`. */
export function judging(pair: () => Pair): (asked?: Judged) => Promise<string[]> {
  return async ({ tables, keyColumn = 'tenant_id', keys = ['acme'], slots, ...asked } = {}) => {
    const { source, destination, keyKind = 'text', kept = [] } = { ...pair(), ...asked.sessions, ...asked };
    const findings = await preflight({
      source,
      destination,
      tables: await movedTables(pair().source, { tables, keyColumn }),
      rows: { scope: slots ? { slots } : { keys }, keyKind, kept },
      names: { source: 'shard0', destination: 'shard1' },
      ownCopy: asked.ownCopy ?? false,
      embeddedIds: asked.embeddedIds ?? [],
    });
    return findings.map(({ severity, check, message }) => `${severity} ${check}: ${message}`);
  };
}
