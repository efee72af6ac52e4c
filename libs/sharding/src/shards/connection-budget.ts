import pLimit from 'p-limit';
import type { Database } from './database.js';

/** Of each database outside of its pool at once: a health probe and a canceller, or the breaker's probe. */
export const SHORT_CONNECTIONS = 2;

/** An expression: what `max_connections` keeps from the role of an application; the second setting is of PostgreSQL 16. */
export const RESERVED = `(current_setting('superuser_reserved_connections')::int
  + coalesce(current_setting('reserved_connections', true)::int, 0))`;

type Budgeted = Pick<Database, 'poolSize' | 'dedicatedConnections'>;

/** The most connections that this process may open: all pools and the connections outside of them. */
export function totalMaxConnections(databases: readonly Budgeted[]): number {
  return databases.reduce(
    (sum, { poolSize, dedicatedConnections }) => sum + poolSize + dedicatedConnections,
    0,
  );
}

/** What a server said about itself. */
interface ServerLimits {
  /** The same for all databases of one server, different for its replica. */
  readonly server: string;
  readonly max: number;
  readonly reserved: number;
}

/** Bound of the question to one server, connecting included. */
const ASK_LIMIT_MS = 2000;
const SERVERS_AT_A_TIME = 8;

/**
 * Compares what this process may open with `max_connections` of every server that answers. Behind a pooler the server's
 * number says nothing about this process, and a `DataSource` that the application builds is not built for this: those
 * databases are left out. One line a server whose number is exceeded.
 *
 * @param stop from then on no further server is asked
 */
export async function budgetWarnings(databases: readonly Database[], stop: AbortSignal): Promise<string[]> {
  const inTurn = pLimit(SERVERS_AT_A_TIME);
  const direct = databases.filter(
    ({ pooler, builtByApplication }) => pooler === 'none' && !builtByApplication,
  );
  const answers = await Promise.all(
    direct.map((database) => inTurn(() => (stop.aborted ? undefined : limitsOf(database)))),
  );
  const servers = new Map<string, { limits: ServerLimits; databases: Database[] }>();
  for (const [index, database] of direct.entries()) {
    const limits = answers[index];
    if (!limits) continue; // not reachable: health says so
    const known = servers.get(limits.server);
    if (known) known.databases.push(database);
    else servers.set(limits.server, { limits, databases: [database] });
  }
  return [...servers.values()].flatMap((server) => warning(server.limits, server.databases));
}

function warning(
  { max, reserved }: ServerLimits,
  databases: readonly (Budgeted & { label: string })[],
): string[] {
  const wanted = totalMaxConnections(databases);
  if (wanted <= max - reserved) return [];
  const names = databases.map(({ label }) => label).join(', ');
  return [
    `this process may open ${wanted} connections to the server of ${names}, which takes ${max - reserved} (max_connections=${max}, ${reserved} reserved): make the pools smaller, or put a pooler in between`,
  ];
}

async function limitsOf(database: Database): Promise<ServerLimits | undefined> {
  try {
    const { rows } = await database.dedicated('budget', ASK_LIMIT_MS, (client) =>
      client.query<ServerLimits>(
        `select pg_postmaster_start_time()::text as server, current_setting('max_connections')::int as max,
          ${RESERVED} as reserved`,
      ),
    );
    return rows[0];
  } catch {
    return undefined;
  }
}
