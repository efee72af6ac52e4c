import type { Topology } from '@app/routing';
import type { AuditFinding } from './audit-finding.js';

/** What is to be done about findings; what cannot be done is a task for a human. */
export type RepairTask =
  | {
      readonly what: 'move' | 'delete-duplicate';
      readonly shard: string;
      readonly key: string;
      readonly to: string;
    }
  | { readonly what: 'clean'; readonly shard: string }
  | { readonly what: 'admit'; readonly shard: string }
  | { readonly what: 'look'; readonly finding: AuditFinding };

/** One task a key and shard, and one a shard for what moves have left; in the order of the findings. */
export function repairPlan(findings: readonly AuditFinding[], topology: Topology): RepairTask[] {
  const tasks = new Map<string, RepairTask>();
  for (const finding of findings) {
    const { kind, shard, table = '', key = '', slot = '', leftover = '', move = '' } = finding;
    if (kind === 'moving' || isOpenRepair(finding)) continue;
    const task = taskOf(finding, topology);
    const name = {
      move: ['key', shard, key],
      'delete-duplicate': ['key', shard, key],
      clean: ['clean', shard],
      admit: ['admit', shard],
      look: [kind, shard, table, key, slot, leftover, move, finding.message],
    }[task.what];
    const id = JSON.stringify(name);
    if (!tasks.has(id)) tasks.set(id, task);
  }
  return [...tasks.values()];
}

/** Gone on with beforehand. */
const isOpenRepair = ({ leftover, repair }: AuditFinding) => leftover === 'open-move' && repair === true;

function taskOf(finding: AuditFinding, topology: Topology): RepairTask {
  const { kind, shard, key, routedTo, homes = [], leftover } = finding;
  const look = { what: 'look', finding } as const;
  if (leftover === 'refused-pin') return { what: 'admit', shard };
  if (kind === 'leftover')
    return leftover === 'move' || leftover === 'triggers' ? { what: 'clean', shard } : look;
  if (key === undefined || routedTo === undefined || (finding.unasked ?? []).length > 0) return look;
  if (topology.byName(routedTo).group !== topology.byName(shard).group) return look;
  if (kind === 'misplaced') return { what: 'move', shard, key, to: routedTo };
  const atHome = homes.some((home) => home.shard === routedTo);
  return kind === 'two_homes' && atHome ? { what: 'delete-duplicate', shard, key, to: routedTo } : look;
}
