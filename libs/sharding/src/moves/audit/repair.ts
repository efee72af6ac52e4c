import { admitPinned } from './admit-on-shard.js';
import { audit } from './audit.js';
import { cleanShard } from './clean-shard.js';
import { openRepairs, repairKey } from './repair-key.js';
import { repairPlan, type RepairTask } from './repair-plan.js';
import { reasonOf } from './audit-run.js';
import type { AuditReport, AuditRequest } from './audit-request.js';
import type { MoveFleet } from '../mover.js';
import type { RepairOptions, RepairReport, RepairStep } from './repair-options.js';
import type { RepairRun } from './repair-run.js';

export type { RepairOptions, RepairReport } from './repair-options.js';

/**
 * Ends repairs that were interrupted, looks again unless it is given a report, and mends what can be mended without a doubt. Each
 * task stands for itself: a refusal stops no other one.
 */
export async function repair(
  what: AuditReport | AuditRequest,
  fleet: MoveFleet,
  options: RepairOptions,
): Promise<RepairReport> {
  const signal = options.signal ?? new AbortController().signal;
  const base = { fleet, call: { ...options, signal }, mode: options.mode, by: options.by };
  const steps: RepairStep[] = [];
  const done = (step: RepairStep) => {
    steps.push(step);
    options.stepped?.(step);
  };
  for (const finish of await openRepairs(base)) done(await finish());
  const report = 'findings' in what ? what : await audit(what, fleet, { signal });
  const run: RepairRun = { ...base, keyColumn: report.keyColumn, keyKind: report.keyKind };
  for (const task of repairPlan(report.findings, fleet.topology)) done(await stepOf(task, run));
  const healed =
    report.complete && steps.every(({ outcome, finding }) => outcome === 'done' || isInfo(finding));
  return { mode: options.mode, audit: report, steps, healed };
}

const isInfo = (finding: RepairStep['finding']) => finding?.severity === 'info';

async function stepOf(task: RepairTask, run: RepairRun): Promise<RepairStep> {
  if (task.what === 'look') {
    const { shard, key, message, remedy } = task.finding;
    const place = { shard, ...(key !== undefined && { key }) };
    return {
      what: 'look',
      outcome: 'left',
      ...place,
      finding: task.finding,
      message: `${message}: ${remedy}`,
    };
  }
  if (run.call.signal.aborted) return { ...task, outcome: 'planned', message: 'interrupted before it' };
  if (task.what === 'clean') return tried('clean', { ...run, shard: task.shard, work: cleanShard });
  if (task.what === 'admit') return tried('admit', { ...run, shard: task.shard, work: admitPinned });
  return repairKey(task, run);
}

interface ShardTask extends RepairRun {
  readonly shard: string;
  /** @returns what it did, or would do, for people */
  readonly work: (shard: string, run: RepairRun) => Promise<string>;
}

async function tried(what: 'clean' | 'admit', { shard, work, ...run }: ShardTask): Promise<RepairStep> {
  try {
    const message = await work(shard, run);
    return { what, outcome: run.mode === 'apply' ? 'done' : 'planned', shard, message };
  } catch (error) {
    return { what, outcome: 'refused', shard, message: reasonOf(error) };
  }
}
