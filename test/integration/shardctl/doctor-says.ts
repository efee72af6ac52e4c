import { expect } from '@jest/globals';
import { diagnosisText } from '../../../apps/shardctl/src/output/diagnosis.js';
import type { Diagnosis } from '@app/sharding/operator';
import type { Shardctl, ShardctlCall } from '../../support/shardctl.js';

/** `severity target check`, the reason, the remedy. Targets that are said to have the same: `shard:a,shard:b`. */
export type Said = readonly [heading: `${string} ${string} ${string}`, reason: string, remedy: string];

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
];
const NAMES = { error: 'error', warning: 'warning', info: 'info' };

export interface Asked extends ShardctlCall {
  readonly args?: readonly string[];
  readonly targets?: readonly string[];
  readonly checks?: readonly string[];
}

/** Runs `shardctl doctor`, and expects exactly these findings, and nothing else, as JSON and in the words for people. */
export async function expectDoctor(shardctl: Shardctl, asked: Asked, said: readonly Said[]): Promise<void> {
  const {
    args = [],
    checks = CHECKS,
    targets = ['control', 'shard:shard0', 'shard:shard1'],
    ...call
  } = asked;
  const findings = said.flatMap(([heading, reason, remedy]) => {
    const [severity = '', names = '', check = ''] = heading.split(' ');
    return names.split(',').map((target) => ({ check, severity, target, reason, remedy }));
  });
  const count = (severity: string) => findings.filter((finding) => finding.severity === severity).length;
  const summary = { error: count('error'), warning: count('warning'), info: count('info') };
  const code = summary.error + summary.warning > 0 ? 1 : 0;
  const { out, ...end } = await shardctl.run(['doctor', ...args, '--json'], call);
  const diagnosis = JSON.parse(out) as Diagnosis;
  expect({ ...end, out: diagnosis }).toEqual({
    code,
    out: { ok: code === 0, summary, checks, targets, findings },
    err: '',
  });
  const paragraphs = said.map(([heading, reason, remedy]) => {
    const [severity = '', names = '', check] = heading.split(' ');
    return [
      `${severity.padEnd(9)}${names.replaceAll(',', ', ')}: ${check}`,
      ...[...reason.split('\n'), `-> ${remedy}`].map((line) => `         ${line}`),
    ].join('\n');
  });
  const totals = Object.entries(summary)
    .filter(([, number]) => number > 0)
    .map(([severity, number]) => `${number} ${NAMES[severity as 'error']}${number === 1 ? '' : 's'}`);
  const counted = `${totals.join(', ') || 'nothing found'} (${plural(checks, 'check')}, ${plural(targets, 'database')})`;
  expect(diagnosisText(diagnosis)).toBe([...paragraphs, counted].join('\n\n'));
}

function plural(list: readonly string[], word: string): string {
  return `${list.length} ${word}${list.length === 1 ? '' : 's'}`;
}

/** What schemas that differ come to, where something else is the point. */
export const drift = (target: string, named: string): Said => [
  `warning ${target} drift`,
  `its schema is not that of the other shards: ${named}`,
  'see all of it with shardctl schema diff, and bring the shards together by a migration',
];
