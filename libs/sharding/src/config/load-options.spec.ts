import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configurationError } from './configuration-error.js';
import { loadShardingOptions } from './load-options.js';
import type { LoadOptions } from './load-options.js';

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sharding-config-'));
  file = join(directory, 'sharding.toml');
});

afterEach(() => rmSync(directory, { recursive: true }));

const write = (name: string, ...lines: string[]) => writeFileSync(join(directory, name), lines.join('\n'));
const load = (more: LoadOptions = {}) => loadShardingOptions({ file, environment: {}, ...more });

describe('sharding.toml', () => {
  it('is read with snake_case keys', () => {
    write(
      'sharding.toml',
      '[database]',
      'primary_url = "postgres://c/c"',
      'pool_size = 4',
      '[[database.shards]]',
      'name = "a"',
      'primary_url = "postgres://a/a"',
      'slots = ["0-8191", 9000]',
      '[tenancy]',
      'header_name = "x-org"',
      'public_paths = ["/login"]',
    );
    expect(load()).toEqual({
      database: {
        primaryUrl: 'postgres://c/c',
        poolSize: 4,
        shards: [{ name: 'a', primaryUrl: 'postgres://a/a', slots: ['0-8191', 9000] }],
      },
      tenancy: { headerName: 'x-org', publicPaths: ['/login'] },
    });
  });

  it('is the file named by SHARDING_CONFIG, else the one of the working directory', () => {
    write('other.toml', '[database]', 'pool_size = 7');
    const environment = { SHARDING_CONFIG: join(directory, 'other.toml') };
    expect(loadShardingOptions({ environment })).toEqual({ database: { poolSize: 7 } });
    const nothing = configurationError([
      'there is no sharding.toml in the working directory, and no SHARDING_ variable is set',
    ]);
    expect(() => loadShardingOptions({ environment: {} })).toThrow(nothing);
    expect(() => loadShardingOptions({ environment: { SHARDING_CONFIG: '' } })).toThrow(nothing);
  });

  it('is not needed when the environment says enough', () => {
    const environment = { SHARDING_DATABASE__URL: 'postgres://c/c' };
    expect(loadShardingOptions({ environment })).toEqual({ database: { url: 'postgres://c/c' } });
  });

  it('must exist when it is named', () => {
    const missing = join(directory, 'missing.toml');
    const error = configurationError([`the configuration file ${missing} does not exist`]);
    expect(() => loadShardingOptions({ environment: { SHARDING_CONFIG: missing } })).toThrow(error);
    expect(() => load({ file: missing })).toThrow(error);
  });

  it('is named with line and column, and without its text, when it is no TOML', () => {
    write('sharding.toml', '[database]', 'primary_url = "postgres://u:hunter2@c/c" "');
    write('sharding.prod.toml', 'password = hunter2');
    expect(() => load({ profile: 'prod' })).toThrow(
      configurationError([
        `${file} cannot be read (line 2, column 42)`,
        `${join(directory, 'sharding.prod.toml')} cannot be read (line 1, column 12)`,
      ]),
    );
  });

  it('is named when it cannot be read at all', () => {
    expect(() => load({ file: directory })).toThrow(configurationError([`${directory} cannot be read`]));
  });

  it('has its unknown sections refused, also those that only code can give', () => {
    write('sharding.toml', 'entities = []', '[databse]', 'url = "postgres://c/c"', '[profil.x]');
    expect(() => load()).toThrow(
      configurationError([
        'entities: unknown section',
        'databse: unknown section; did you mean "database"?',
        'profil: unknown section; did you mean "profile"?',
        'database.primary_url: no database is configured; set it, or declare shards',
      ]),
    );
  });
});

describe('overlays', () => {
  it('lie over each other: file, profile of the file, file of the profile, environment', () => {
    write(
      'sharding.toml',
      '[database]',
      'pool_size = 1',
      'primary_pool_size = 1',
      'connect_timeout_ms = 1',
      'drain_timeout_ms = 1',
      '[profile.prod.database]',
      'primary_pool_size = 2',
      'connect_timeout_ms = 2',
      'drain_timeout_ms = 2',
    );
    write('sharding.prod.toml', '[database]', 'connect_timeout_ms = 3', 'drain_timeout_ms = 3');
    const environment = { SHARDING_PROFILE: 'prod', SHARDING_DATABASE__DRAIN_TIMEOUT_MS: '4' };
    expect(load({ environment })).toEqual({
      database: { poolSize: 1, primaryPoolSize: 2, connectTimeoutMs: 3, drainTimeoutMs: 4 },
      profile: 'prod',
    });
  });

  it('merge shards by name; those of the environment are positional after that', () => {
    write(
      'sharding.toml',
      '[[database.shards]]',
      'name = "a"',
      'primary_url = "postgres://a/a"',
      '[[database.shards]]',
      'name = "b"',
      'primary_url = "postgres://b/b"',
      '[[profile.prod.database.shards]]',
      'name = "b"',
      'primary_url = "postgres://prod/b"',
    );
    write('sharding.prod.toml', '[[database.shards]]', 'name = "c"', 'primary_url = "postgres://prod/c"');
    const environment = { SHARDING_DATABASE__SHARDS__2__PRIMARY_URL: 'postgres://env/c' };
    expect(load({ profile: 'prod', environment }).database?.shards).toEqual([
      { name: 'a', primaryUrl: 'postgres://a/a' },
      { name: 'b', primaryUrl: 'postgres://prod/b' },
      { name: 'c', primaryUrl: 'postgres://env/c' },
    ]);
  });

  it('of other profiles are not used', () => {
    write('sharding.toml', '[database]', 'pool_size = 1', '[profile.prod.database]', 'pool_size = 2');
    expect(load({ environment: { SHARDING_PROFILE: '' } })).toEqual({ database: { poolSize: 1 } });
    expect(() =>
      load({ environment: { SHARDING_PROFILE: 'test', SHARDING_DATABASE__URL: 'postgres://c/c' } }),
    ).toThrow(configurationError(['there is no profile "test"; there are: prod']));
    write('sharding.toml', '[database]', 'pool_size = 1');
    expect(load({ profile: 'development' })).toEqual({ database: { poolSize: 1 }, profile: 'development' }); // nothing is laid over
  });

  it('have their profile found under any legal name', () => {
    write('sharding.toml', '[profile.blue_green-2.database]', 'pool_size = 2');
    expect(load({ profile: 'blue_green-2' })).toEqual({ database: { poolSize: 2 }, profile: 'blue_green-2' });
  });

  it('have a mistyped profile refused', () => {
    write(
      'sharding.toml',
      '[database]',
      'url = "postgres://c/c"',
      '[profile.staging_eu.database]',
      'pool_size = 2',
    );
    expect(() => load({ profile: 'staging_ue' })).toThrow(
      configurationError(['there is no profile "staging_ue"; did you mean "staging_eu"?']),
    );
    expect(() => load({ profile: '../etc' })).toThrow(
      configurationError(['the profile must match [A-Za-z0-9_-]']),
    );
  });

  it('have their unknown sections refused', () => {
    write(
      'sharding.toml',
      '[database]',
      'url = "postgres://c/c"',
      '[profile.prod.tenency]',
      'source = "jwt"',
    );
    write('sharding.prod.toml', '[profile.other]');
    expect(() => load({ profile: 'prod' })).toThrow(
      configurationError(['tenency: unknown section; did you mean "tenancy"?', 'profile: unknown section']),
    );
  });

  it('must be tables', () => {
    write('sharding.toml', '[database]', 'url = "postgres://c/c"', '[profile]', 'prod = 1');
    expect(() => load({ profile: 'prod' })).toThrow(
      configurationError(['profile.prod: must be a table of sections']),
    );
    write('sharding.toml', 'profile = 1', '[database]', 'url = "postgres://c/c"');
    expect(() => load()).toThrow(configurationError(['profile: must be a table of profiles']));
  });
});

describe('all mistakes of files and environment', () => {
  it('are in one error, with those of the options', () => {
    write('sharding.toml', '[database]', 'pool_size = 0', '[tenancy]', 'source = "custom"', '[tenency]');
    const environment = { SHARDING_DATABASE__POOLSIZE: '4' };
    expect(() => load({ environment })).toThrow(
      configurationError([
        'tenency: unknown section; did you mean "tenancy"?',
        'SHARDING_DATABASE__POOLSIZE: unknown key; did you mean "POOL_SIZE"?',
        'database.pool_size: must not be less than 1',
        'database.primary_url: no database is configured; set it, or declare shards',
      ]),
    );
  });
});
