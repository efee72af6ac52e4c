import { expect, it } from '@jest/globals';
import { migrationVerdicts, type MigrationCase } from './migrations.js';
import type { Applied } from '../../../migrations/read-applied.js';

const list = (names: string) =>
  names
    .split(' ')
    .filter(Boolean)
    .map((name) => ({ name })) as never[];
const given = (framework: string, own: string, more: Partial<MigrationCase> = {}): MigrationCase => ({
  target: 't',
  code: { framework: list(framework), own: list(own) },
  needsFramework: false,
  whenPending: 'refuse',
  ...more,
});
const applied = (framework: string[] | undefined, ...own: string[]): Applied => ({ framework, own });

it.each<[string, MigrationCase, Applied, string[]]>([
  ['all are applied', given('F', 'A B'), applied(['F'], 'A', 'B'), []],
  [
    'some are pending',
    given('F G', 'A B'),
    applied(['F'], 'A'),
    ['error lacks migrations: G, B; the application does not boot'],
  ],
  [
    'some are pending, and the boot only warns',
    given('F', 'A', { whenPending: 'warn' }),
    applied(['F']),
    ['warning lacks migrations: A'],
  ],
  ['plain tables, which nobody has migrated', given('F', ''), applied(undefined), []],
  [
    'nobody has migrated what the configuration uses',
    given('F', '', { needsFramework: true }),
    applied(undefined),
    ['error lacks migrations: F; the application does not boot'],
  ],
  [
    'the library is older',
    given('F', ''),
    applied(['F', 'G']),
    ['warning has migrations of the library that this version does not know: G'],
  ],
  [
    'the code is older',
    given('F', 'A'),
    applied(['F'], 'A', 'B'),
    ['warning has migrations that the code does not know: B'],
  ],
  [
    'the code does not say',
    given('F', ''),
    applied(['F'], 'A'),
    [
      'info has 1 migration of the application, of which this configuration names none: what is pending is not known',
    ],
  ],
])('%s', (_what, code, there, expected) => {
  expect(migrationVerdicts(code, there).map(({ severity, reason }) => `${severity} ${reason}`)).toEqual(
    expected,
  );
});
