import { databaseOf, runOnce, withDatabase } from './admin-query.js';
import { waitFor } from './wait-for.js';

/** Waits up to `timeoutMs` until nobody is connected to the database; fails with a list of those who still are. */
export async function expectNoConnections(url: string, timeoutMs = 5000): Promise<void> {
  const name = databaseOf(url);
  const none = async () => (await connectionsTo(url, name)).length === 0;
  try {
    await waitFor(none, { what: `the connections to ${name} to close`, timeoutMs });
  } catch (cause) {
    const open = await connectionsTo(url, name);
    const lines = open.map((row) => `  ${JSON.stringify(row)}`).join('\n');
    throw new Error(`${open.length} connection(s) to ${name} left open:\n${lines}`, { cause });
  }
}

/** Asks from the database `postgres`, so as not to count itself. */
async function connectionsTo(url: string, name: string) {
  const sql = `select pid, application_name, state, query_start, query from pg_stat_activity
    where datname = $1 and backend_type = 'client backend' order by pid`;
  return runOnce(withDatabase(url, 'postgres'), sql, [name]);
}
