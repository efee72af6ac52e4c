import { DEDICATED_CONNECTIONS } from './dedicated-connection.js';

/** The most connections that this process may open: all pools and the dedicated connections of each database. */
export function totalMaxConnections(databases: readonly { readonly poolSize: number }[]): number {
  return databases.reduce((sum, database) => sum + database.poolSize + DEDICATED_CONNECTIONS, 0);
}
