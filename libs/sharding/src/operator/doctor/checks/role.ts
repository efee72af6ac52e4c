import { check } from '../check.js';
import type { Verdict } from '../finding.js';
import type { ServerFacts } from '../server-facts.js';

type Facts = Pick<ServerFacts, 'recovering' | 'readOnly'>;

/** Whether a server is what it is configured as. */
export const role = check({
  name: 'role',
  scope: 'target',
  judge: (_found, { servers }) =>
    servers
      .filter(({ way }) => way.name === 'url')
      .flatMap(({ way: { place }, server }) => roleVerdict(place.label, place.role, server) ?? []),
});

export function roleVerdict(
  target: string,
  configured: 'primary' | 'replica',
  { recovering, readOnly }: Facts,
): Verdict | undefined {
  if (configured === 'replica') {
    if (recovering) return undefined;
    return {
      severity: 'error',
      target,
      reason: 'is configured as a replica and is none: it takes writes of its own, and follows nobody',
      remedy: 'point replica_url at a streaming replica, or build this one anew from its primary',
    };
  }
  if (recovering) {
    return {
      severity: 'error',
      target,
      reason: 'is configured as a primary and is a replica: every write fails',
      remedy: 'point the URL at the primary; after a failover, promote this server',
    };
  }
  if (!readOnly) return undefined;
  return {
    severity: 'error',
    target,
    reason: 'takes no writes (default_transaction_read_only is on)',
    remedy: 'if a failover has left it behind, point the URL at the new primary; else turn the setting off',
  };
}
