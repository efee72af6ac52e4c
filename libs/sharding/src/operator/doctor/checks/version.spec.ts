import { expect, it } from '@jest/globals';
import { versionVerdicts } from './version.js';

const fleet = (...versions: string[]) =>
  versions.map((version, index) => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return { target: `t${index}`, version, versionNumber: major * 10_000 + minor };
  });

it.each<[string[], string[]]>([
  [['18.1', '18.1'], []],
  [['14.0'], []],
  [['13.9', '18.1'], ['error t0 runs PostgreSQL 13.9, which is not supported: the oldest is 14']],
  [
    ['18.1', '17.4', '18.1'],
    ['warning t1 runs PostgreSQL 17.4, where most run 18: plans, and what SQL is understood, can differ'],
  ],
  [['18.1', '18.2', '18.2'], ['info t0 runs PostgreSQL 18.1, where most run 18.2']],
  [
    ['18.1', '17.4', '18.1', '18.2'],
    [
      'warning t1 runs PostgreSQL 17.4, where most run 18: plans, and what SQL is understood, can differ',
      'info t3 runs PostgreSQL 18.2, where most run 18.1',
    ],
  ],
])('%j', (versions, expected) => {
  const found = versionVerdicts(fleet(...versions));
  expect(found.map(({ severity, target, reason }) => `${severity} ${target} ${reason}`)).toEqual(expected);
});
