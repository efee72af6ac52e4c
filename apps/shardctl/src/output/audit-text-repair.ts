import { auditNotes, findingJson } from './audit-text.js';
import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import type { RepairReport, RepairStep } from '@app/sharding/operator';

const WIDTH = 'planned  '.length;
const TROUBLE: readonly RepairStep['outcome'][] = ['refused', 'left'];

/** A line for each step, and how many came to what. */
export function repairText({ mode, steps }: RepairReport, style: Style = PLAIN): string {
  if (steps.length === 0) return 'nothing to repair';
  const lines = steps.map((step) => {
    const line = printable(`${step.outcome.padEnd(WIDTH)}${placeOf(step)}: ${step.message}`);
    return TROUBLE.includes(step.outcome) ? style.bad(line) : line;
  });
  return [...lines, '', `${totals(steps)}${mode === 'dry-run' ? '; nothing was changed' : ''}`].join('\n');
}

function placeOf({ shard, to, key }: RepairStep): string {
  return `${shard}${to === undefined ? '' : ` -> ${to}`}${key === undefined ? '' : ` ${JSON.stringify(key)}`}`;
}

function totals(steps: readonly RepairStep[]): string {
  const words = { done: 'done', planned: 'planned', refused: 'refused', left: 'left to you' } as const;
  return (Object.keys(words) as RepairStep['outcome'][])
    .map((outcome) => ({ outcome, count: steps.filter((step) => step.outcome === outcome).length }))
    .filter(({ count }) => count > 0)
    .map(({ outcome, count }) => `${count} ${words[outcome]}`)
    .join(', ');
}

/** For stderr. */
export function repairNotes({ audit }: RepairReport): string[] {
  return auditNotes({ ...audit, complete: true }).map((note) => `${note}: repair again for the others`);
}

/** What `--json` says. */
export function repairJson({ mode, healed, steps, audit }: RepairReport): object {
  return {
    mode,
    healed,
    counts: audit.counts,
    steps: steps.map(({ what, outcome, shard, to, key, move, finding, message }) => ({
      what,
      outcome,
      shard,
      to: to ?? null,
      key: key ?? null,
      move: move ?? null,
      message,
      finding: finding ? findingJson(finding) : null,
    })),
  };
}
