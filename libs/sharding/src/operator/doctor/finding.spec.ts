import { expect, it } from '@jest/globals';
import { sorted, type Finding } from './finding.js';

type Short = [severity: Finding['severity'], check: Finding['check'], reason: string, target: string];

it('has the worst first, then the checks in their order, and the same words of several targets together', () => {
  const order: Short[] = [
    ['error', 'configuration', 'a', 'configuration'],
    ['error', 'clock', 'a', 'shard:z'],
    ['error', 'clock', 'a', 'shard:b'],
    ['error', 'clock', 'b', 'control'],
    ['error', 'clock', 'b', 'shard:b'],
    ['error', 'directory', 'a', 'control'],
    ['warning', 'version', 'a', 'control'],
    ['info', 'configuration', 'a', 'control'],
  ];
  const findings = order.map(([severity, check, reason, target]) => ({
    severity,
    check,
    reason,
    target,
    remedy: '',
  }));
  const targets = ['control', 'shard:z', 'shard:b'];
  const mixed = [5, 2, 7, 0, 4, 1, 6, 3].flatMap((index) => findings[index] ?? []);
  expect(sorted(mixed, targets)).toEqual(findings);
});
