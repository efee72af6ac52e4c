import { check } from '../check.js';
import type { Verdict } from '../finding.js';
import type { PoolerFound } from '../pooler-behind.js';
import type { Pooler } from '../../../shard.options.js';

export interface PoolerCase {
  readonly target: string;
  readonly role: 'primary' | 'replica';
  readonly configured: Pooler;
  readonly hasMaintenanceUrl: boolean;
  readonly way: 'url' | 'maintenance_url';
  readonly found: PoolerFound;
}

/** What stands in between is what the configuration says. */
export const pooler = check({
  name: 'pooler',
  scope: 'target',
  judge: (_found, { servers }) =>
    servers.flatMap(({ way: { place, name }, pooler: found }) =>
      poolerVerdicts({
        target: place.label,
        role: place.role,
        configured: place.settings.pooler,
        hasMaintenanceUrl: place.settings.maintenanceUrl !== undefined,
        way: name,
        found,
      }),
    ),
});

export function poolerVerdicts(given: PoolerCase): Verdict[] {
  const { target, configured, way, found } = given;
  if (way === 'maintenance_url') return found === 'transaction' ? [notDirect(target)] : [];
  if (configured === 'transaction') {
    return [...withoutWayAround(given), ...(found === 'none' ? [noPooler(target)] : [])];
  }
  if (found === 'transaction') return [unknownToUs(target)];
  return found === 'none' ? [] : [sessionPooler(target, found)];
}

function notDirect(target: string): Verdict {
  return {
    severity: 'error',
    target,
    reason:
      'its maintenance_url leads through a pooler in transaction mode: LISTEN, locks and migrations fail',
    remedy: 'set maintenance_url to a direct connection',
  };
}

function unknownToUs(target: string): Verdict {
  return {
    severity: 'error',
    target,
    reason:
      'a pooler in transaction mode stands in between and pooler = "none" is configured: settings, LISTEN and locks of a session end up in sessions of others',
    remedy: 'set pooler = "transaction", and maintenance_url to a direct connection',
  };
}

/** The control database with a directory needs it to boot: that is a problem of the configuration. */
function withoutWayAround({ target, role, hasMaintenanceUrl }: PoolerCase): Verdict[] {
  if (hasMaintenanceUrl || role === 'replica') return [];
  return [
    {
      severity: 'warning',
      target,
      reason:
        'is reached through a pooler only (pooler = "transaction", no maintenance_url): it cannot be migrated',
      remedy: 'set maintenance_url to a direct connection',
    },
  ];
}

function noPooler(target: string): Verdict {
  return {
    severity: 'info',
    target,
    reason:
      'pooler = "transaction" is configured and the connection is direct: sessions are used more carefully than they need to be',
    remedy: 'point the URL at the pooler, or set pooler = "none"',
  };
}

function sessionPooler(target: string, found: 'session' | 'unknown'): Verdict {
  const mode = found === 'session' ? 'in session mode' : 'that has no session to spare';
  return {
    severity: 'info',
    target,
    reason: `a pooler ${mode} stands in between: its own limits of connections count, not max_connections`,
    remedy: 'nothing, as long as it stays in session mode',
  };
}
