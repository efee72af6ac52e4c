import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { configurationError } from './configuration-error.js';
import { environmentOverlay } from './environment.js';
import { snakeCase } from './key-style.js';
import { loadShardingOptions } from './load-options.js';
import { optionTypes, SECTIONS, SHARD_SECTION } from './option-schema.js';
import { resolveOptions } from './resolve-options.js';
import type { Environment } from './environment.js';

const directory = mkdtempSync(join(tmpdir(), 'sharding-environment-'));
const file = join(directory, 'empty.toml');
writeFileSync(file, '');
afterAll(() => rmSync(directory, { recursive: true }));

const load = (environment: Environment) => loadShardingOptions({ file, environment });

/** A valid value of every key, as a variable and as it is read. */
const DATABASE: Record<string, [string, unknown]> = {
  primaryUrl: ['postgres://c/c', 'postgres://c/c'],
  url: ['postgres://c/c', 'postgres://c/c'],
  replicaUrl: ['postgres://cr/c', 'postgres://cr/c'],
  poolSize: ['4', 4],
  primaryPoolSize: ['5', 5],
  replicaPoolSize: ['6', 6],
  replicaFallback: ['primary', 'primary'],
  connectTimeoutMs: ['7', 7],
  statementTimeoutMs: ['8', 8],
  idleInTransactionTimeoutMs: ['0', 0],
  slowQueryThresholdMs: ['0', 0],
  maxConnectionsWarnThreshold: ['0', 0],
  drainTimeoutMs: ['9', 9],
  directoryShardRouter: ['False', false],
  directorySnapshotMax: ['13', 13],
  directoryCacheTtlMs: ['1400', 1400],
  directoryOnOutage: ['fail', 'fail'],
  directoryMaxStalenessMs: ['5000', 5000],
  slotMapGuard: ['strict', 'strict'],
  maintenanceUrl: ['postgres://d/c', 'postgres://d/c'],
  pooler: ['none', 'none'],
  readYourWrites: ['session', 'session'],
  causalWaitMs: ['0', 0],
  maxReplicaLagMs: ['11', 11],
  replicaProbeIntervalMs: ['12', 12],
  sessionSecret: ['k'.repeat(32), 'k'.repeat(32)],
  cancelOnDisconnect: ['TRUE', true],
  scatter: ['warn', 'warn'],
  cursorSecret: ['c'.repeat(32), 'c'.repeat(32)],
  moveCertificateSecret: ['m'.repeat(32), 'm'.repeat(32)],
};
const SHARD: Record<string, [string, unknown]> = {
  name: ['s0', 's0'],
  primaryUrl: ['postgres://s0/a', 'postgres://s0/a'],
  slots: ['0-8191, 9000 ,9001', ['0-8191', '9000', '9001']],
  group: ['3', 3],
  member: ['0', 0],
  replicaUrl: ['postgres://r0/a', 'postgres://r0/a'],
  primaryPoolSize: ['2', 2],
  replicaPoolSize: ['1', 1],
  replicaFallback: ['fail_readiness', 'fail_readiness'],
  maintenanceUrl: ['postgres://d0/a', 'postgres://d0/a'],
  pooler: ['transaction', 'transaction'],
  connectTimeoutMs: ['21', 21],
  statementTimeoutMs: ['22', 22],
  idleInTransactionTimeoutMs: ['23', 23],
  maxReplicaLagMs: ['24', 24],
};
const TENANCY: Record<string, [string, unknown]> = {
  enabled: ['true', true],
  source: ['jwt', 'jwt'],
  required: ['always', 'always'],
  headerName: ['x-org', 'x-org'],
  baseDomain: ['example.com', 'example.com'],
  jwtSecret: ['s'.repeat(32), 's'.repeat(32)],
  jwtPublicKey: ['a key', 'a key'],
  jwksUrl: ['https://id/keys', 'https://id/keys'],
  jwtIssuer: ['me', 'me'],
  jwtAudience: ['you', 'you'],
  jwtClaim: ['org', 'org'],
  publicPaths: ['/login,/about', ['/login', '/about']],
  maxLength: ['64', 64],
};
const MIGRATIONS: Record<string, [string, unknown]> = {
  control: ['dist/control/*.js', ['dist/control/*.js']],
  shards: ['dist/a.js,dist/b.js', ['dist/a.js', 'dist/b.js']],
  autoMigrate: ['never', 'never'],
  pendingMigrations: ['warn', 'warn'],
  lockTimeoutMs: ['31', 31],
  interleaveIdentities: ['false', false],
  identityStride: ['32', 32],
};

const variable = (prefix: string, key: string) => `SHARDING_${prefix}__${snakeCase(key).toUpperCase()}`;
const variables = (prefix: string, values: Record<string, [string, unknown]>) =>
  Object.fromEntries(Object.entries(values).map(([key, [text]]) => [variable(prefix, key), text]));
const read = (values: Record<string, [string, unknown]>) =>
  Object.fromEntries(Object.entries(values).map(([key, [, value]]) => [key, value]));

describe('the environment', () => {
  it('has a variable for every key', () => {
    const keys = (section: new () => object) =>
      [...optionTypes(section)].filter(([, type]) => type !== 'code').map(([key]) => key);
    expect(Object.keys(DATABASE)).toEqual(keys(SECTIONS.get('database')!).filter((key) => key !== 'shards'));
    expect(Object.keys(SHARD)).toEqual(keys(SHARD_SECTION));
    expect(Object.keys(TENANCY)).toEqual(keys(SECTIONS.get('tenancy')!));
    expect(Object.keys(MIGRATIONS)).toEqual(keys(SECTIONS.get('migrations')!));
  });

  it('sets every key', () => {
    const environment = {
      ...variables('DATABASE', DATABASE),
      ...variables('DATABASE__SHARDS__0', SHARD),
      ...variables('TENANCY', TENANCY),
      ...variables('MIGRATIONS', MIGRATIONS),
    };
    expect(load(environment)).toEqual({
      database: { ...read(DATABASE), shards: [read(SHARD)] },
      tenancy: read(TENANCY),
      migrations: read(MIGRATIONS),
    });
  });

  it('wins key by key over what is below it, and changes nothing else (any subset of keys)', () => {
    const below = { poolSize: 99, primaryUrl: 'postgres://below/c', connectTimeoutMs: 99 };
    const subset = fc.subarray(Object.entries(DATABASE)).map((entries) => Object.fromEntries(entries));
    fc.assert(
      fc.property(subset, fc.boolean(), (chosen, some) => {
        const options = some ? { database: below } : {};
        const overlaid = environmentOverlay(options, { HOME: '/', ...variables('DATABASE', chosen) });
        const database = { ...(some ? below : {}), ...read(chosen) };
        const expected = Object.keys(database).length > 0 || some ? { database } : {};
        expect(overlaid).toEqual({ options: expected, problems: [] });
        expect(options).toEqual(some ? { database: below } : {});
      }),
    );
  });

  it('leaves variables of others alone', () => {
    const environment = {
      SHARDINGDATABASE__URL: 'x',
      SHARDING_TEST: 'x',
      DATABASE__URL: 'x',
      SHARDING_PROFILE: '',
    };
    expect(environmentOverlay({}, environment)).toEqual({ options: {}, problems: [] });
  });

  it('refuses unknown names, each with the nearest known one', () => {
    const environment = {
      SHARDING_DATABASE__POOLSIZE: '4',
      SHARDING_DATABASE__URL: 'postgres://c/c',
      SHARDING_DATABASE__SHARDS: '[]',
      SHARDING_DATABASE__SHARDS__0: 'postgres://a/a',
      SHARDING_DATABSE__URL: 'postgres://c/c',
      SHARDING_TENANCY__RESOLVE: 'x',
      SHARDING_TENANCY__SORCE: 'x',
      SHARDING_constructor__NAME: 'x',
      SHARDING_database__URL: 'x',
    };
    const place = 'shards are set one by one, as SHARDING_DATABASE__SHARDS__0__NAME and so on';
    expect(() => load(environment)).toThrow(
      configurationError([
        'SHARDING_DATABASE__POOLSIZE: unknown key; did you mean "POOL_SIZE"?',
        `SHARDING_DATABASE__SHARDS: ${place}`,
        `SHARDING_DATABASE__SHARDS__0: ${place}`,
        'SHARDING_DATABSE__URL: unknown section; did you mean "DATABASE"?',
        'SHARDING_TENANCY__RESOLVE: unknown key',
        'SHARDING_TENANCY__SORCE: unknown key; did you mean "SOURCE"?',
        'SHARDING_constructor__NAME: unknown section',
        'SHARDING_database__URL: unknown section',
      ]),
    );
  });

  it('refuses a known key behind one underscore, and leaves other names alone', () => {
    expect(() =>
      load({
        SHARDING_DATABASE__URL: 'postgres://c/c',
        SHARDING_DATABASE_POOL_SIZE: '3',
        SHARDING_DATABASE_PASSWORD_FILE: '/run/x',
      }),
    ).toThrow(
      configurationError(['SHARDING_DATABASE_POOL_SIZE: did you mean "SHARDING_DATABASE__POOL_SIZE"?']),
    );
  });

  it('leaves a text that does not fit its key, for the check to name without showing it', () => {
    const environment = {
      SHARDING_DATABASE__URL: 'postgres://c/c',
      SHARDING_DATABASE__POOL_SIZE: '4 connections',
      SHARDING_DATABASE__CONNECT_TIMEOUT_MS: '',
      SHARDING_DATABASE__DIRECTORY_SHARD_ROUTER: 'on',
    };
    expect(() => resolveOptions(load(environment), 'toml')).toThrow(
      configurationError([
        'database.pool_size: must be an integer number, must not be less than 1',
        'database.connect_timeout_ms: must be an integer number, must not be less than 1',
        'database.directory_shard_router: must be a boolean value',
      ]),
    );
  });

  it('does not hide a section that is no table', () => {
    const options = { database: 'x' };
    const environment = { SHARDING_DATABASE__URL: 'postgres://c/c', SHARDING_DATABASE__SHARDS__0__NAME: 'a' };
    expect(environmentOverlay(options, environment).options).toEqual(options);
  });

  it('gives the same options as code (any subset of keys of the databases)', () => {
    const database = fc.subarray(Object.entries(DATABASE));
    const shard = fc.subarray(
      Object.entries(SHARD).filter(([key]) => !/^(name|primaryUrl|slots)$/.test(key)),
    );
    fc.assert(
      fc.property(database, shard, (common, own) => {
        const needed = ['name', 'primaryUrl'].map((key) => [key, SHARD[key]] as [string, [string, unknown]]);
        const first = Object.fromEntries([...needed, ...own]);
        const all = Object.fromEntries(common);
        const environment = { ...variables('DATABASE', all), ...variables('DATABASE__SHARDS__0', first) };
        const code = { database: { ...read(all), shards: [read(first)] } };
        expect(load(environment)).toEqual(code);
      }),
    );
  });
});
