import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { register } from 'node:module';
import { createContext } from 'node:vm';
import { mappedStack } from './mapped-stack.js';

register('./source-hooks.js', import.meta.url);

/** The names of what Jest leaves on the global object for each file. */
const LEFT_BY_JEST = new Set(['JEST_STATE_SYMBOL', 'EVENT_HANDLERS']);

/**
 * Runs spec files in the realm of the worker itself, where NestJS, TypeORM and the sources are loaded once and not once for
 * each file: a third of the time of a run. What a file leaves in `process`, in the timers and in its mocks is put back when it
 * ends. A file that replaces modules says `@jest-environment node` in its first comment, and has a realm of its own.
 */
export default class SharedModulesEnvironment {
  sharesModules = true;
  global = globalThis;
  fakeTimers = null;
  #context = createContext(); // nothing runs in it: Jest takes no environment without one
  #before = {
    env: { ...process.env },
    exit: process.exit,
    exitCode: process.exitCode,
    console: globalThis.console,
    symbols: Object.getOwnPropertySymbols(globalThis),
  };

  constructor({ projectConfig }, { testPath }) {
    process.env['SHARDING_TEST_FILE'] = testPath;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {
    process.setSourceMapsEnabled(true);
    Error.prepareStackTrace = mappedStack;
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    const { env, exit, exitCode, console, symbols } = this.#before;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    Object.assign(process, { exit, exitCode });
    globalThis.console = console;
    for (const key of Object.getOwnPropertySymbols(globalThis)) {
      if (LEFT_BY_JEST.has(key.description) && !symbols.includes(key)) delete globalThis[key];
    }
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return this.#context;
  }
}
