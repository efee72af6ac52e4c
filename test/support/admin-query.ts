import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

/** A row as the driver returns it. */
export type Row = Record<string, unknown>;

const CONNECT_TIMEOUT_MS = 20_000;
const QUERY_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 1_000;

/** Lends a connection of its own to `work` and closes it afterwards, also when the server no longer answers. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const socket = new Socket();
  const client = new pg.Client({
    stream: () => socket,
    connectionString: url,
    application_name: 'test-admin',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await Promise.race([client.end(), pause(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    socket.destroy();
  }
}

/** Runs one statement on a connection of its own. */
export async function runOnce(url: string, sql: string, params: readonly unknown[] = []): Promise<Row[]> {
  return withClient(url, async (client) => (await client.query<Row>(sql, [...params])).rows);
}

/** The same server with another database or user; keeps the password. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.href;
}

/** The database a URL names. */
export function databaseOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1));
}
