import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import type { Diagnosis, Finding, Severity } from '@app/sharding/operator';

const INDENT = ' '.repeat(9);
const NAMES: Record<Severity, readonly [string, string]> = {
  error: ['error', 'errors'],
  warning: ['warning', 'warnings'],
  info: ['info', 'infos'],
};

/** How many there are of each severity. */
export function counts(findings: readonly Finding[]): Record<Severity, number> {
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return { error: of('error'), warning: of('warning'), info: of('info') };
}

/** A paragraph for each finding; what several targets have in the same words is told once, with all of them. */
export function diagnosisText({ checks, targets, findings }: Diagnosis, style: Style = PLAIN): string {
  const paragraphs = together(findings).map((same) => paragraph(same, style));
  const where = targets.length === 1 ? '1 database' : `${targets.length} databases`;
  const what = checks.length === 1 ? '1 check' : `${checks.length} checks`;
  return [...paragraphs, `${totals(findings)} (${what}, ${where})`].join('\n\n');
}

interface Same {
  readonly finding: Finding;
  readonly targets: readonly string[];
}

function together(findings: readonly Finding[]): Same[] {
  const known = new Map<string, { finding: Finding; targets: string[] }>();
  for (const finding of findings) {
    const key = JSON.stringify([finding.check, finding.severity, finding.reason, finding.remedy]);
    const same = known.get(key);
    if (same) same.targets.push(finding.target);
    else known.set(key, { finding, targets: [finding.target] });
  }
  return [...known.values()];
}

function paragraph({ finding, targets }: Same, style: Style): string {
  const { severity, check, reason, remedy } = finding;
  const heading = `${severity.padEnd(INDENT.length)}${printable(targets.join(', '))}: ${check}`;
  const lines = reason.split('\n').map((line) => INDENT + printable(line));
  return [
    severity === 'error' ? style.bad(heading) : style.heading(heading),
    ...lines,
    `${INDENT}-> ${printable(remedy)}`,
  ].join('\n');
}

function totals(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'nothing found';
  const found = counts(findings);
  return (Object.keys(NAMES) as Severity[])
    .filter((severity) => found[severity] > 0)
    .map((severity) => `${found[severity]} ${NAMES[severity][found[severity] === 1 ? 0 : 1]}`)
    .join(', ');
}
