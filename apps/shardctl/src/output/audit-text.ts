import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import type { AuditFinding, AuditReport } from '@app/sharding/operator';

const INDENT = ' '.repeat(9);
/** Keys of one paragraph; `--json` has all. */
const KEYS_SHOWN = 10;

/** A paragraph for each finding; what several keys of a table have in the same words is told once, with the first of them. */
export function auditText({ findings, ...report }: AuditReport, style: Style = PLAIN): string {
  const paragraphs = together(findings).map((same) => paragraph(same, style));
  return [...paragraphs, summary(report)].join('\n\n');
}

function together(findings: readonly AuditFinding[]): AuditFinding[][] {
  const groups = new Map<string, AuditFinding[]>();
  for (const finding of findings) {
    const { kind, shard, table, message, remedy } = finding;
    const words = JSON.stringify([kind, shard, table, message, remedy]);
    const group = groups.get(words);
    if (group) group.push(finding);
    else groups.set(words, [finding]);
  }
  return [...groups.values()];
}

function paragraph(same: readonly AuditFinding[], style: Style): string {
  const [finding] = same;
  if (!finding) return '';
  const { severity, kind, shard, table, message, remedy } = finding;
  const heading = printable(
    `${severity.padEnd(INDENT.length)}${shard}: ${kind}${table === undefined ? '' : ` in ${table}`}`,
  );
  const subjects = same.flatMap((each) => subjectOf(each));
  return [
    severity === 'error' ? style.bad(heading) : style.heading(heading),
    `${INDENT}${printable(message)}`,
    ...(subjects.length > 0 ? [`${INDENT}${printable(shown(subjects))}`] : []),
    `${INDENT}-> ${printable(remedy)}`,
  ].join('\n');
}

function subjectOf({ key, slot, move, rows }: AuditFinding): string[] {
  const count = rows === undefined ? '' : `${rows} ${rows === 1 ? 'row' : 'rows'}`;
  if (key !== undefined) return [`${JSON.stringify(key)}${count && ` (${count})`}`];
  if (slot !== undefined) return [`slot ${slot}`];
  if (move !== undefined) return [`move ${move}`];
  return count ? [count] : [];
}

function shown(subjects: readonly string[]): string {
  const more = subjects.length - KEYS_SHOWN;
  return [...subjects.slice(0, KEYS_SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

function summary({ counts, keys, shards, samplePercent }: Omit<AuditReport, 'findings'>): string {
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  const what = found.map(([kind, count]) => `${count} ${kind}`).join(', ') || 'nothing found';
  const sample = samplePercent === 100 ? '' : `, a sample of ${samplePercent} %`;
  return `${what} (${keys} ${keys === 1 ? 'key' : 'keys'} on ${shards.join(', ')}${sample})`;
}

/** For stderr. */
export function auditNotes({ complete, cursor, counts, findings }: AuditReport): string[] {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return [
    ...(total > findings.length ? [`the first ${findings.length} of ${total} findings are listed`] : []),
    ...(complete ? [] : [`interrupted: go on with the same command and --resume ${cursor}`]),
  ];
}

/** What `--json` says. */
export function auditJson(report: AuditReport): object {
  const { shards, samplePercent, keyColumn, keyKind, complete, cursor, keys, counts, findings } = report;
  return {
    complete,
    cursor: cursor ?? null,
    shards,
    sample_percent: samplePercent,
    key_column: keyColumn,
    key_kind: keyKind,
    keys,
    counts,
    findings: findings.map(findingJson),
  };
}

/** Every field is always there. */
export function findingJson(finding: AuditFinding): object {
  const { kind, severity, shard, message, remedy } = finding;
  return {
    kind,
    severity,
    shard,
    table: finding.table ?? null,
    key: finding.key ?? null,
    slot: finding.slot ?? null,
    rows: finding.rows ?? null,
    routed_to: finding.routedTo ?? null,
    homes: finding.homes ?? [],
    unasked: finding.unasked ?? [],
    move: finding.move ?? null,
    message,
    remedy,
  };
}
