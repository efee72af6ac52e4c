import { check } from '../check.js';
import type { Verdict } from '../finding.js';
import type { ServerFacts } from '../server-facts.js';

type Facts = Pick<ServerFacts, 'started' | 'database'>;

/** Two names of one database: what one target does, the other sees. */
export const sameDatabase = check({
  name: 'same-database',
  scope: 'deployment',
  judge: (_found, { servers }) =>
    sameDatabaseVerdicts(
      servers
        .filter(({ way }) => way.name === 'url')
        .map(({ way, server }) => ({ target: way.place.label, server })),
    ),
});

export function sameDatabaseVerdicts(
  facts: readonly { readonly target: string; readonly server: Facts }[],
): Verdict[] {
  const first = new Map<string, string>();
  return facts.flatMap(({ target, server }) => {
    const identity = `${server.started} ${server.database}`;
    const other = first.get(identity);
    if (other === undefined) {
      first.set(identity, target);
      return [];
    }
    const severity = target === `${other}:replica` ? 'warning' : 'error';
    return [
      {
        severity,
        target,
        reason: `is the same database as ${other}, by another URL`,
        remedy: 'give each of them a database of its own, or take one of the two out of the configuration',
      },
    ];
  });
}
