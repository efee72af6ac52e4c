import { expect, it } from '@jest/globals';

interface Environment {
  readonly moduleMocker: { spyOn(of: object, method: string): { mockReturnValue(value: unknown): void } };
  readonly fakeTimersModern: { useFakeTimers(): void };
  setup(): Promise<void>;
  teardown(): Promise<void>;
}
type EnvironmentClass = new (config: object, context: { testPath: string }) => Environment;

const FILE = new URL('../../runner/shared-modules.environment.js', import.meta.url).href;

it('what a test file leaves in the process, in timers and in mocks ends with it', async () => {
  const { default: SharedModulesEnvironment } = (await import(FILE)) as { default: EnvironmentClass };
  const { exitCode, exit, env } = process;
  const before = { ...env };
  const { setTimeout, console } = globalThis;
  const { stringify } = JSON;

  const config = { projectConfig: { fakeTimers: {} } };
  const environment = new SharedModulesEnvironment(config, { testPath: 'some.spec.ts' });
  expect(env['SHARDING_TEST_FILE']).toBe('some.spec.ts');
  await environment.setup();
  env['ADDED'] = 'by a test file';
  delete env['PATH'];
  env['HOME'] = '/nowhere';
  process.exitCode = 7;
  process.exit = (() => undefined) as never;
  globalThis.console = {} as never;
  environment.fakeTimersModern.useFakeTimers();
  environment.moduleMocker.spyOn(JSON, 'stringify').mockReturnValue('mocked');
  expect(JSON.stringify({})).toBe('mocked');
  expect(globalThis.setTimeout).not.toBe(setTimeout);
  await environment.teardown();

  expect({ ...env }).toEqual(before);
  expect({ exitCode: process.exitCode, exit: process.exit }).toEqual({ exitCode, exit });
  expect({ setTimeout: globalThis.setTimeout, console: globalThis.console }).toEqual({ setTimeout, console });
  expect(JSON.stringify).toBe(stringify);
});
