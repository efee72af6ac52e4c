/** `error`: something fails, or will; `warning`: it works until something happens; `info`: to be known. */
export const SEVERITIES = ['error', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What is looked at, in this order. */
export const CHECKS = [
  'configuration',
  'reachability',
  'role',
  'same-database',
  'version',
  'text',
  'clock',
  'replica',
  'pooler',
  'connections',
  'migrations',
  'indexes',
  'tenant-column',
  'tenant-index',
  'unique',
  'foreign-keys',
  'sequences',
  'drift',
  'slot-map',
  'directory',
] as const;
export type CheckName = (typeof CHECKS)[number];

/** What stands out, why it matters, and what to do. */
export interface Finding {
  readonly check: CheckName;
  readonly severity: Severity;
  /** `control`, `shard:<name>`, either with `:replica`, or `configuration`. */
  readonly target: string;
  /** May have several lines. */
  readonly reason: string;
  readonly remedy: string;
}

/** What a judge says: the check is known. */
export type Verdict = Omit<Finding, 'check'>;

/** The worst first, then by check; the same words of several targets are together. @param targets in their order */
export function sorted(findings: readonly Finding[], targets: readonly string[]): Finding[] {
  return findings.toSorted(
    (a, b) =>
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      CHECKS.indexOf(a.check) - CHECKS.indexOf(b.check) ||
      byText(a.reason, b.reason) ||
      targets.indexOf(a.target) - targets.indexOf(b.target),
  );
}

function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
