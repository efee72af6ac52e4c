import { expect, it } from '@jest/globals';
import { auditNotes, auditText } from './audit-text.js';
import { repairText } from './audit-text-repair.js';
import type { AuditFinding, AuditReport, RepairReport } from '@app/sharding/operator';

const COUNTS = {
  misplaced: 0,
  two_homes: 0,
  leftover: 0,
  orphan: 0,
  unroutable: 0,
  unreachable: 0,
  moving: 0,
};
const report = (findings: readonly AuditFinding[], more: Partial<AuditReport> = {}): AuditReport => ({
  shards: ['shard0', 'shard1'],
  samplePercent: 100,
  keyColumn: 'tenant_id',
  keyKind: 'text',
  complete: true,
  cursor: undefined,
  keys: 20,
  counts: { ...COUNTS, misplaced: findings.length },
  findings,
  ...more,
});
const misplaced = (key: string, rows = 2): AuditFinding => ({
  kind: 'misplaced',
  severity: 'error',
  shard: 'shard1',
  table: 'public.bookmarks',
  key,
  rows,
  message: 'the key is routed to shard0',
  remedy: 'repair',
});

it('tells what several keys have in common once', () => {
  const findings = Array.from({ length: 12 }, (_none, index) => misplaced(`t${index}`, index + 1));
  expect(auditText(report(findings))).toBe(
    [
      'error    shard1: misplaced in public.bookmarks',
      '         the key is routed to shard0',
      '         "t0" (1 row), "t1" (2 rows), "t2" (3 rows), "t3" (4 rows), "t4" (5 rows), "t5" (6 rows), "t6" (7 rows), "t7" (8 rows), "t8" (9 rows), "t9" (10 rows), and 2 more',
      '         -> repair',
      '',
      '12 misplaced (20 keys on shard0, shard1)',
    ].join('\n'),
  );
});

it('says that there is nothing, of how much', () => {
  expect(auditText(report([], { samplePercent: 5, keys: 1 }))).toBe(
    'nothing found (1 key on shard0, shard1, a sample of 5 %)',
  );
});

it('sends nothing of a key to the terminal as a command', () => {
  expect(auditText(report([misplaced('\u001b[31m\u202e')]))).toContain('"\\u001b[31m\\u202e" (2 rows)');
});

it('says how to go on, and what is not listed', () => {
  const counts = { ...COUNTS, misplaced: 5000 };
  expect(auditNotes(report([misplaced('a')], { complete: false, cursor: 'abc', counts }))).toEqual([
    'the first 1 of 5000 findings are listed',
    'interrupted: go on with the same command and --resume abc',
  ]);
});

it('lists the steps of a repair', () => {
  const steps: RepairReport['steps'] = [
    {
      what: 'move',
      outcome: 'done',
      shard: 'shard1',
      to: 'shard0',
      key: 'acme',
      move: 'm',
      message: 'moved',
    },
    { what: 'clean', outcome: 'refused', shard: 'shard0', message: 'locked' },
    { what: 'look', outcome: 'left', shard: 'shard0', message: 'orphans' },
  ];
  const repaired: RepairReport = { mode: 'apply', audit: report([]), steps, healed: false };
  expect(repairText(repaired)).toBe(
    [
      'done     shard1 -> shard0 "acme": moved',
      'refused  shard0: locked',
      'left     shard0: orphans',
      '',
      '1 done, 1 refused, 1 left to you',
    ].join('\n'),
  );
  expect(repairText({ ...repaired, mode: 'dry-run', steps: [] })).toBe('nothing to repair');
});
