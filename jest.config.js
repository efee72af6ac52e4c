/** Modules that were loaded once would be stale when files are watched, and cannot be measured. */
const sharesModules = !process.argv.some((argument) => /^--(watch|coverage)/.test(argument));

/** Everything runs from one configuration: unit specs beside the code, the rest below test/. */
export default {
  testEnvironment: sharesModules ? '<rootDir>/test/runner/shared-modules.environment.js' : 'node',
  testRunner: '<rootDir>/test/runner/shared-modules.runner.js',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^nestjs-sharding$': '<rootDir>/libs/sharding/src/index.ts',
    '^nestjs-sharding/(actions|jobs)$': '<rootDir>/libs/$1/src/index.ts',
    '^nestjs-sharding/routing$': '<rootDir>/libs/routing/src/index.ts',
    '^nestjs-sharding/health$': '<rootDir>/libs/sharding/src/health/index.ts',
    '^@app/sharding/health$': '<rootDir>/libs/sharding/src/health/index.ts',
    '^nestjs-sharding/metrics$': '<rootDir>/libs/sharding/src/metrics/index.ts',
    '^@app/sharding/metrics$': '<rootDir>/libs/sharding/src/metrics/index.ts',
    '^@app/sharding/config$': '<rootDir>/libs/sharding/src/config/index.ts',
    '^@app/sharding/secrets$': '<rootDir>/libs/sharding/src/secrets/index.ts',
    '^@app/sharding/operator$': '<rootDir>/libs/sharding/src/operator/index.ts',
    '^@app/actions/operator$': '<rootDir>/libs/actions/src/operator/index.ts',
    '^@app/routing/contract$': '<rootDir>/libs/routing/src/router.contract.ts',
    '^@app/([^/]*)$': '<rootDir>/libs/$1/src/index.ts',
    '^@test/support$': '<rootDir>/test/support/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  testTimeout: 30_000,
  maxWorkers: 3, // for two cores: many files wait for servers, processes and clocks
  workerIdleMemoryLimit: '1000MB', // a worker keeps the spec files that it has run
  reporters: ['default', '<rootDir>/test/support/summary.reporter.js'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};
