import { describe, expect, it } from '@jest/globals';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { ShardingOptions } from '../sharding.options.js';

const primaryUrl = 'postgres://db/app';
const resolve = (options: object) => resolveOptions(options as ShardingOptions, 'toml');
const shard = { name: 'a', primaryUrl: 'postgres://a/a' };

const URL_RULE = 'must be a postgres:// or postgresql:// URL';
const FALLBACK_RULE = 'must be one of the following values: fail_readiness, primary';

describe('an option of the wrong shape', () => {
  it.each<[object, string[]]>([
    [{ poolSize: '4' }, ['pool_size: must be an integer number, must not be less than 1']],
    [{ poolSize: 0 }, ['pool_size: must not be less than 1']],
    [{ primaryPoolSize: 1.5 }, ['primary_pool_size: must be an integer number']],
    [{ replicaPoolSize: -1 }, ['replica_pool_size: must not be less than 1']],
    [{ replicaFallback: 'off' }, [`replica_fallback: ${FALLBACK_RULE}`]],
    [{ connectTimeoutMs: 0 }, ['connect_timeout_ms: must not be less than 1']],
    [{ statementTimeoutMs: -1 }, ['statement_timeout_ms: must not be less than 0']],
    [{ slowQueryThresholdMs: -1 }, ['slow_query_threshold_ms: must not be less than 0']],
    [{ maxConnectionsWarnThreshold: -1 }, ['max_connections_warn_threshold: must not be less than 0']],
    [
      { drainTimeoutMs: Number.NaN },
      ['drain_timeout_ms: must be an integer number, must not be less than 0'],
    ],
    [{ directoryShardRouter: 'yes' }, ['directory_shard_router: must be a boolean value']],
    [{ maintenanceUrl: 'db:5432' }, [`maintenance_url: ${URL_RULE}`]],
    [{ poolSize: null }, ['pool_size: must not be null; leave it out']],
    [{ shards: { a: shard } }, ['shards: must be an array']],
    [{ shards: [{ ...shard, slots: '0-16383' }] }, ['shards[0].slots: must be an array']],
    [{ shards: [{ ...shard, group: '1' }] }, ['shards[0].group: must be an integer number']],
    [{ shards: [{ ...shard, member: '1' }] }, ['shards[0].member: must be an integer number']],
    [{ shards: [{ ...shard, replicaUrl: 'mysql://a/b' }] }, [`shards[0].replica_url: ${URL_RULE}`]],
    [
      { shards: [{ ...shard, primaryPoolSize: 0 }] },
      ['shards[0].primary_pool_size: must not be less than 1'],
    ],
    [{ shards: [{ ...shard, replicaFallback: 1 }] }, [`shards[0].replica_fallback: ${FALLBACK_RULE}`]],
    [{ shards: [{ ...shard, replicaUrl: null }] }, ['shards[0].replica_url: must not be null; leave it out']],
    [
      { shards: [shard, { name: 'b' }, 'c'] },
      [
        'shards[1].primary_url: is required',
        'shards[2]: must be a table of keys',
        'shards[2]: name must match [a-z0-9_-]+, not ""',
      ],
    ],
    [
      { shards: [{ primaryUrl: 'postgres://a/a' }] },
      ['shards[0].name: is required', 'shards[0]: name must match [a-z0-9_-]+, not ""'],
    ],
  ])('%j -> %j', (database, problems) => {
    expect(() => resolve({ database: { primaryUrl, ...database } })).toThrow(
      configurationError(problems.map((problem) => `database.${problem}`)),
    );
  });

  it.each<[object, string[]]>([
    [{ enabled: 'false' }, ['enabled: must be a boolean value']],
    [{ source: 'session' }, ['source: must be one of the following values: header, subdomain, jwt, custom']],
    [{ required: 'sometimes' }, ['required: must be one of the following values: on_use, always']],
    [{ headerName: 'x tenant' }, ['header_name: must be a header name']],
    [{ headerName: 5 }, ['header_name: must be a header name']],
    [{ source: 'subdomain', baseDomain: 7 }, ['base_domain: must be a domain name, such as example.com']],
    [
      { source: 'subdomain', baseDomain: 'http://x.com' },
      ['base_domain: must be a domain name, such as example.com'],
    ],
    [{ source: 'subdomain', baseDomain: '' }, ['base_domain: must be a domain name, such as example.com']],
    [{ publicPaths: '/login' }, ['public_paths: must be an array']],
    [{ publicPaths: [1] }, ['public_paths: each value must be a string']],
    [{ maxLength: 0 }, ['max_length: must not be less than 1']],
    [{ maxLength: 2001 }, ['max_length: must not be greater than 2000']],
    [{ headerName: null }, ['header_name: must not be null; leave it out']],
  ])('of tenancy: %j -> %j', (tenancy, problems) => {
    expect(() => resolve({ database: { primaryUrl }, tenancy })).toThrow(
      configurationError(problems.map((problem) => `tenancy.${problem}`)),
    );
  });

  it.each([null, 'x', 5, []])('may be a whole section: %j', (section) => {
    expect(() => resolve({ database: { primaryUrl }, tenancy: section })).toThrow(
      configurationError(['tenancy: must be a table of keys']),
    );
    expect(() => resolve({ database: section })).toThrow(
      configurationError([
        'database: must be a table of keys',
        'database.primary_url: no database is configured; set it, or declare shards',
      ]),
    );
  });

  it.each<[object, string]>([
    [{ typeorm: 'debug' }, 'typeorm: must be an object'],
    [{ router: class {} }, 'router: must be a ShardRouter, an object with route(key, topology)'],
    [{ router: null }, 'router: must be a ShardRouter, an object with route(key, topology)'],
    [{ createDataSource: {} }, 'createDataSource: must be a function'],
  ])('may be what only code gives: %p', (options, problem) => {
    expect(() => resolve({ database: { primaryUrl }, ...options })).toThrow(configurationError([problem]));
  });
});

describe('options of TypeORM that the library decides', () => {
  it('are refused, all of them', () => {
    const typeorm = {
      url: 'x',
      synchronize: false,
      parseInt8: true,
      extra: { max: 1, host: 'x', keepAlive: false },
    };
    expect(() => resolve({ database: { primaryUrl }, typeorm })).toThrow(
      configurationError([
        'typeorm.url: is decided by the library',
        'typeorm.synchronize: is decided by the library',
        'typeorm.parseInt8: is decided by the library',
        'typeorm.extra.host: is decided by the library',
        'typeorm.extra.max: is decided by the library',
      ]),
    );
  });

  it('leave the others alone', () => {
    const typeorm = { logging: true, extra: { statement_timeout: 5 } };
    expect(resolve({ database: { primaryUrl }, typeorm }).typeorm.options).toBe(typeorm);
  });
});
