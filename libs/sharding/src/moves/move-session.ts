import type pg from 'pg';
import type { Awaited } from './session-doubt.js';

/** One connection of a mover: of its own, with settings of its own. */
export interface MoveSession {
  readonly client: pg.Client;
  /** Where the framework's tables and functions are; the search path of the session is empty. */
  readonly schema: string;
  /** The schemas where a name without one is looked for, in order. */
  readonly searchPath: readonly string[];
  /** Which of the server's it is; no other has had both. */
  readonly backend: { readonly pid: number; readonly started: string };
  /** What this end waits for at the moment, for the watch; while a COPY runs, the COPY says it. */
  awaits: (copied: number) => Awaited;
}

/** Of each wait for a lock, where a step asks for no other. */
const LOCK_TIMEOUT = '10s';

/**
 * What the text of values depends on, and what roles and databases are told about long work, is the same in every session; the
 * search path is empty, so that nobody puts a table or a function of his own in between.
 */
const PINNED: Readonly<Record<string, string>> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  client_encoding: 'UTF8',
  search_path: 'pg_catalog, pg_temp',
  row_security: 'off',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
  lock_timeout: LOCK_TIMEOUT,
  client_connection_check_interval: '1000',
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  synchronous_commit: 'on',
};

/** Settings that a version, or a platform, does not have are left out. */
const PIN = `select set_config(pinned.name, pinned.setting, false)
  from unnest($1::text[], $2::text[]) as pinned (name, setting)
  where current_setting(pinned.name, true) is not null`;

const PLACES = `select current_schema() as schema, current_schemas(false)::text[] as "searchPath",
  pg_backend_pid() as pid, (select extract(epoch from backend_start)::text
    from pg_catalog.pg_stat_activity where pid = pg_backend_pid()) as started`;

type Places = Pick<MoveSession, 'schema' | 'searchPath'> & MoveSession['backend'];

/** Pins the settings of a connection. */
export async function sessionOf(client: pg.Client): Promise<MoveSession> {
  const { rows } = await client.query<Places>(PLACES);
  await client.query(PIN, [Object.keys(PINNED), Object.values(PINNED)]);
  const [{ schema, searchPath, ...backend }] = rows as [Places];
  return { client, schema, searchPath, backend, awaits: () => awaited(client) };
}

/** The driver says it of every statement. */
function awaited(client: pg.Client): Awaited {
  const { readyForQuery } = client as pg.Client & { readonly readyForQuery: boolean };
  return readyForQuery ? 'nothing' : 'answer';
}

/** Runs `work` in a transaction; `mode` as in `begin`. Rolls back when it throws. */
export async function inTransaction<T>(
  { client }: MoveSession,
  mode: string,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(`begin ${mode}`);
  try {
    const value = await work();
    await client.query('commit');
    return value;
  } catch (error) {
    await client.query('rollback').catch(() => undefined); // the first error tells more
    throw error;
  }
}
