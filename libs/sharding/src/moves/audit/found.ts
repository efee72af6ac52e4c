import { AUDIT_KINDS, type AuditFinding, type AuditKind } from './audit-finding.js';
import { MAX_FINDINGS } from './audit-request.js';

/** Findings as they come: all are counted, and the first ones kept. */
export class Found {
  readonly kept: AuditFinding[] = [];
  readonly counts = Object.fromEntries(AUDIT_KINDS.map((kind) => [kind, 0])) as Record<AuditKind, number>;

  add(findings: readonly AuditFinding[]): void {
    for (const finding of findings) this.counts[finding.kind]++;
    this.kept.push(...findings.slice(0, MAX_FINDINGS - this.kept.length));
  }
}
