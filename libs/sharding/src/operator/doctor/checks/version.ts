import { check } from '../check.js';
import { differing } from '../differing.js';
import type { Verdict } from '../finding.js';

const OLDEST = 14;

interface Facts {
  readonly target: string;
  readonly version: string;
  readonly versionNumber: number;
}

/** PostgreSQL of one version everywhere, and none that is too old. */
export const version = check({
  name: 'version',
  scope: 'target',
  judge: (_found, { servers }) =>
    versionVerdicts(
      servers
        .filter(({ way }) => way.name === 'url')
        .map(({ way, server }) => ({ target: way.place.label, ...server })),
    ),
});

export function versionVerdicts(facts: readonly Facts[]): Verdict[] {
  const old = facts.filter((one) => majorOf(one) < OLDEST);
  const supported = facts.filter((one) => majorOf(one) >= OLDEST);
  const majors = differing(supported.map((by) => ({ value: String(majorOf(by)), by })));
  const odd = new Set(majors.map((one) => one.odd.by));
  const minors = differing(supported.filter((one) => !odd.has(one)).map((by) => ({ value: by.version, by })));
  return [
    ...old.map(({ target, version: runs }): Verdict => ({
      severity: 'error',
      target,
      reason: `runs PostgreSQL ${runs}, which is not supported: the oldest is ${OLDEST}`,
      remedy: 'upgrade the server',
    })),
    ...majors.map(({ odd: { by }, usual }): Verdict => ({
      severity: 'warning',
      target: by.target,
      reason: `runs PostgreSQL ${by.version}, where most run ${usual}: plans, and what SQL is understood, can differ`,
      remedy: 'bring all servers to one major version',
    })),
    ...minors.map(({ odd: { by }, usual }): Verdict => ({
      severity: 'info',
      target: by.target,
      reason: `runs PostgreSQL ${by.version}, where most run ${usual}`,
      remedy: 'nothing urgent: bring all servers to the newest minor version',
    })),
  ];
}

function majorOf({ versionNumber }: Facts): number {
  return Math.floor(versionNumber / 10_000);
}
