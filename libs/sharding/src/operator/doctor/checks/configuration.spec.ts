import { expect, it } from '@jest/globals';
import { ShardingError } from '@app/routing';
import { configurationFindings } from './configuration.js';

const finding = (reason: string) => ({
  check: 'configuration',
  severity: 'error',
  target: 'configuration',
  reason,
  remedy: 'correct the file, its profile, or the environment; no database was asked',
});

it.each<[string, string[]]>([
  ['the configuration has problems:\n  - a: is bad\n  - b: is worse', ['a: is bad', 'b: is worse']],
  ['there is no file', ['there is no file']],
])('%j is a finding for each problem', (message, reasons) => {
  expect(configurationFindings(new ShardingError('invalid_topology', message))).toEqual(reasons.map(finding));
});
