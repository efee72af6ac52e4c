import pg from 'pg';
import { runOnce } from './admin-query.js';

/** Copies `template` (the empty `template1` when left out), file by file: half the work; nobody may be connected to it. */
export async function createDatabase(adminUrl: string, name: string, template = 'template1'): Promise<void> {
  const [database, source] = [name, template].map(pg.escapeIdentifier);
  await runOnce(adminUrl, `create database ${database} template ${source} strategy file_copy`);
}

/** Ends the sessions of a database and drops it; one that does not exist is fine. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await runOnce(adminUrl, `drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
}

/** How many clients are connected to a database. */
export async function countConnections(adminUrl: string, name: string): Promise<number> {
  const sql = `select count(*)::int as count from pg_stat_activity where datname = $1 and backend_type = 'client backend'`;
  const [row] = await runOnce(adminUrl, sql, [name]);
  return Number(row?.['count']);
}
