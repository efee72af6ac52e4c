import { SHORT_CONNECTIONS, totalMaxConnections } from '../../../shards/connection-budget.js';
import { hasTable } from '../catalog/has-table.js';
import { check, type DoctorContext } from '../check.js';
import type { Verdict } from '../finding.js';
import type { Place } from '../../place.js';
import type { Read } from '../look.js';

/** One server and what this deployment wants of it. */
export interface ServerBudget {
  /** In their order. */
  readonly targets: readonly string[];
  /** Connections that one process may open. */
  readonly wanted: number;
  readonly max: number;
  readonly reserved: number;
  /** By all clients now. */
  readonly used: number;
}

/** Share of `max_connections` in use from which on it is told. */
const NEARLY_ALL = 0.9;

/** Pools fit into the servers. Behind a pooler the server's number says nothing about a process. */
export const connections = check<number>({
  name: 'connections',
  scope: 'deployment',
  read: (place, look) =>
    place.isControl && place.role === 'primary' ? look.read(livingProcesses) : undefined,
  judge: (found, context) =>
    budgetVerdicts(budgetsOf(context), found[0]?.facts ?? 0, {
      total: totalMaxConnections(context.places.map((place) => budgeted(place, context))),
      threshold: context.settings.maxConnectionsWarnThreshold,
    }),
});

/** Processes that follow the directory; 0 where there is none. */
const livingProcesses: Read<number> = async (client) => {
  if (!(await hasTable(client, '_sharding_processes'))) return 0;
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::int as count from _sharding_processes where lease_until > now()',
  );
  return rows[0]?.count ?? 0;
};

/** Of each database outside of its pool: a few for a short time; one to watch a replica, and one to listen, for long. */
function budgeted({ settings, role, label, isControl }: Place, { places, settings: all }: DoctorContext) {
  const watched = role === 'replica' || places.some((other) => other.label === `${label}:replica`);
  const listens = isControl && role === 'primary' && all.directory.enabled;
  return {
    poolSize: settings.poolSize,
    dedicatedConnections: SHORT_CONNECTIONS + Number(watched) + Number(listens),
  };
}

function budgetsOf(context: DoctorContext): ServerBudget[] {
  const direct = context.servers.filter(
    ({ way, pooler }) => way.name === 'url' && way.place.settings.pooler === 'none' && pooler === 'none',
  );
  const started = new Set(direct.map(({ server }) => server.started));
  return [...started].map((start) => {
    const together = direct.filter(({ server }) => server.started === start);
    const most = (of: 'maxConnections' | 'reserved' | 'used') =>
      Math.max(...together.map(({ server }) => server[of]));
    return {
      targets: together.map(({ way }) => way.place.label),
      wanted: totalMaxConnections(together.map(({ way }) => budgeted(way.place, context))),
      max: most('maxConnections'),
      reserved: most('reserved'),
      used: most('used'),
    };
  });
}

export function budgetVerdicts(
  servers: readonly ServerBudget[],
  processes: number,
  { total, threshold }: { readonly total: number; readonly threshold: number },
): Verdict[] {
  const verdicts = servers.flatMap((server) => serverVerdicts(server, processes));
  if (threshold === 0 || total <= threshold) return verdicts;
  return [
    ...verdicts,
    {
      severity: 'warning',
      target: 'configuration',
      reason: `one process may open ${total} connections to all databases together; max_connections_warn_threshold is ${threshold}`,
      remedy: 'make the pools smaller, or raise the threshold if the machine can carry it',
    },
  ];
}

function serverVerdicts(server: ServerBudget, processes: number): Verdict[] {
  const { targets, wanted, max, reserved, used } = server;
  const free = max - reserved;
  const place = `the server of ${targets.join(', ')}, which takes ${free} (max_connections = ${max}, ${reserved} reserved)`;
  const common = { target: targets[0] ?? '', remedy: 'make the pools smaller, or put a pooler in between' };
  const verdicts: Verdict[] = [];
  if (wanted > free) {
    const reason = `one process may open ${wanted} connections to ${place}`;
    verdicts.push({ ...common, severity: 'error', reason });
  } else if (wanted * processes > free) {
    const reason = `the ${processes} processes that run may open ${wanted * processes} connections to ${place}`;
    verdicts.push({ ...common, severity: 'warning', reason });
  }
  if (used > free * NEARLY_ALL) {
    const reason = `${used} connections are open to ${place}`;
    verdicts.push({ ...common, severity: 'warning', reason });
  }
  return verdicts;
}
