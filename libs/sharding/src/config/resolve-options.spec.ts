import { describe, expect, it } from '@jest/globals';
import { ShardingError } from '@app/routing';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { DatabaseOptions, ShardingOptions } from '../sharding.options.js';
import type { DatabaseSettings } from '../sharding.settings.js';

const shards = [
  { name: 'a', primaryUrl: 'postgres://a/a' },
  { name: 'b', primaryUrl: 'postgres://b/b' },
];

const resolve = (database: DatabaseOptions, rest: ShardingOptions = {}) =>
  resolveOptions({ database, ...rest });

/** The settings of one database with its URL shown. */
const shown = ({ url, maintenanceUrl, ...rest }: DatabaseSettings) => ({
  ...rest,
  url: url.reveal(),
  ...(maintenanceUrl && { maintenanceUrl: maintenanceUrl.reveal() }),
});

const LIMITS = {
  pooler: 'none',
  poolSize: 10,
  connectTimeoutMs: 5000,
  statementTimeoutMs: 30_000,
  idleInTransactionTimeoutMs: 60_000,
  slowQueryThresholdMs: 500,
};

describe('settings', () => {
  it('have every default', () => {
    const { topology, ...settings } = resolve({ shards });
    expect(topology.shards.map(({ name }) => [name, topology.rangesOfShard(name)])).toEqual([
      ['a', '0-8191'],
      ['b', '8192-16383'],
    ]);
    const defaults = { role: 'primary', ...LIMITS };
    expect(settings.shards.map(({ name, primary }) => [name, shown(primary)])).toEqual([
      ['a', { target: 'shard:a', url: 'postgres://a/a', ...defaults }],
      ['b', { target: 'shard:b', url: 'postgres://b/b', ...defaults }],
    ]);
    expect({ ...settings, shards: undefined }).toEqual({
      shards: undefined,
      directory: {
        enabled: false,
        snapshotMax: 100_000,
        cacheTtlMs: 30_000,
        onOutage: 'serve_stale',
        maxStalenessMs: 30_000,
      },
      slotMapGuard: 'warn',
      unsharded: false,
      tenancy: { enabled: false },
      maxConnectionsWarnThreshold: 100,
      drainTimeoutMs: 10_000,
      typeorm: { shardEntities: [], controlEntities: [], subscribers: [] },
      reads: { readYourWrites: 'request', causalWaitMs: 100, probeIntervalMs: 1000 },
      cancelOnDisconnect: false,
      crossShard: { scatter: 'allow' },
      migrations: {
        control: [],
        shards: [],
        autoMigrate: 'development',
        pendingMigrations: 'refuse',
        lockTimeoutMs: 5000,
        interleaveIdentities: true,
        identityStride: 1024,
      },
    });
    expect(settings.typeorm.options).toEqual({});
  });

  it('have what was set', () => {
    const settings = resolve({
      primaryUrl: 'postgresql://c/c',
      maintenanceUrl: 'postgres://direct/c',
      connectTimeoutMs: 1,
      statementTimeoutMs: 2,
      slowQueryThresholdMs: 0,
      maxConnectionsWarnThreshold: 0,
      drainTimeoutMs: 0,
      shards: [
        { ...shards[0]!, slots: ['0-16383'], maintenanceUrl: 'postgres://direct/a' },
        { ...shards[1]!, slots: [] },
      ],
    });
    const limits = {
      role: 'primary',
      ...LIMITS,
      connectTimeoutMs: 1,
      statementTimeoutMs: 2,
      slowQueryThresholdMs: 0,
    };
    expect([settings.control!, ...settings.shards.map((shard) => shard.primary)].map(shown)).toEqual([
      { target: 'control', url: 'postgresql://c/c', maintenanceUrl: 'postgres://direct/c', ...limits },
      { target: 'shard:a', url: 'postgres://a/a', maintenanceUrl: 'postgres://direct/a', ...limits },
      { target: 'shard:b', url: 'postgres://b/b', ...limits },
    ]);
    expect([settings.maxConnectionsWarnThreshold, settings.drainTimeoutMs]).toEqual([0, 0]);
    expect(settings.topology.shards.map(({ slotCount }) => slotCount)).toEqual([16384, 0]);
  });

  it('are frozen, all of them', () => {
    const settings = resolve(
      { primaryUrl: 'postgres://c/c', shards },
      { tenancy: { publicPaths: ['/login'], source: 'header' } },
    );
    expect(unfrozen(settings)).toEqual([]);
  });

  it('do not change when the options do', () => {
    const publicPaths = ['/login'];
    const settings = resolve({ primaryUrl: 'postgres://c/c' }, { tenancy: { publicPaths } });
    publicPaths.push('/');
    expect(settings.tenancy).toMatchObject({ publicPaths: ['/login'] });
  });

  it.each<[DatabaseOptions, number, number, number]>([
    [{}, 10, 10, 7],
    [{ poolSize: 4 }, 4, 4, 7],
    [{ poolSize: 4, primaryPoolSize: 3 }, 3, 3, 7],
    [{ primaryPoolSize: 3 }, 3, 3, 7],
  ])('take the pool size of the shard, else of primaries, else of all: %j', (sizes, control, plain, own) => {
    const [a, b] = shards;
    const settings = resolve({
      ...sizes,
      url: 'postgres://c/c',
      shards: [a!, { ...b!, primaryPoolSize: 7 }],
    });
    const databases = [settings.control!, ...settings.shards.map((shard) => shard.primary)];
    expect(databases.map(({ poolSize }) => poolSize)).toEqual([control, plain, own]);
  });

  it('has a replica where one is configured, with the limits of its place', () => {
    const [a, b] = shards;
    const settings = resolve({
      primaryUrl: 'postgres://c/c',
      replicaUrl: 'postgres://cr/c',
      poolSize: 3,
      replicaPoolSize: 5,
      replicaFallback: 'primary',
      maxReplicaLagMs: 9,
      shards: [
        { ...a!, replicaUrl: 'postgres://r/a', replicaPoolSize: 2, replicaFallback: 'fail_readiness' },
        {
          ...b!,
          replicaUrl: 'postgres://r/b',
          maxReplicaLagMs: 0,
          statementTimeoutMs: 7,
          pooler: 'transaction',
        },
      ],
    });
    const found = [settings.controlReplica, ...settings.shards.map(({ replica }) => replica)];
    const of = { role: 'replica', ...LIMITS };
    expect(found.map((replica) => ({ ...replica, database: shown(replica!.database) }))).toEqual([
      {
        database: { ...of, target: 'control', url: 'postgres://cr/c', poolSize: 5 },
        fallback: 'primary',
        maxLagMs: 9,
      },
      {
        database: { ...of, target: 'shard:a', url: 'postgres://r/a', poolSize: 2 },
        fallback: 'fail_readiness',
        maxLagMs: 9,
      },
      {
        database: {
          ...of,
          target: 'shard:b',
          url: 'postgres://r/b',
          poolSize: 5,
          statementTimeoutMs: 7,
          pooler: 'transaction',
        },
        fallback: 'primary',
        maxLagMs: 0,
      },
    ]);
  });

  it('refuse sessions without a key, a short key, and a replica of no control database', () => {
    const short = 'database.sessionSecret: must have at least 32 bytes';
    expect(() => resolve({ shards, readYourWrites: 'session' })).toThrow(
      configurationError([
        'database.sessionSecret: is needed with readYourWrites = "session"; it signs the tokens',
      ]),
    );
    expect(() => resolve({ shards, readYourWrites: 'session', sessionSecret: 'x'.repeat(31) })).toThrow(
      configurationError([short]),
    );
    expect(() => resolve({ shards, replicaUrl: 'postgres://r/c' })).toThrow(
      configurationError(['database.replicaUrl: needs a control database; set database.primaryUrl']),
    );
    const sessionSecret = 'x'.repeat(32);
    const { reads } = resolve({ shards, readYourWrites: 'session', sessionSecret });
    expect(reads.sessionSecret?.reveal()).toBe(sessionSecret);
  });
});

describe('a deployment without shards', () => {
  it.each(['primaryUrl', 'url'] as const)(
    'has one shard, default at (0,0), on the control database (%s)',
    (key) => {
      const { topology, ...settings } = resolve({ [key]: 'postgres://c/c', poolSize: 3 });
      expect(topology.shards.map((shard) => ({ ...shard, identifier: `${shard.identifier}` }))).toEqual([
        { name: 'default', index: 0, group: 0, identifier: '(0,0)', slotCount: 16384 },
      ]);
      expect(settings.unsharded).toBe(true);
      expect(settings.shards.map(({ name, primary }) => [name, shown(primary)])).toEqual([
        ['default', { ...shown(settings.control!), target: 'shard:default' }],
      ]);
    },
  );
});

describe('a configuration with several mistakes', () => {
  it('is refused by one error that lists them all', () => {
    const work = () =>
      resolve(
        {
          poolSize: 0,
          directoryShardRouter: true,
          shards: [
            { name: 'a', primaryUrl: 'postgres://h/a', slots: ['0-9', 'x'] },
            { name: 'a', primaryUrl: 'postgres://h/a', slots: ['9-16382'] },
            { name: 'Ä', primaryUrl: 'h', slots: [], group: 300 },
          ],
        },
        { tenancy: { source: 'jwt', maxLength: 0 }, typeorm: { synchronize: true } as object },
      );
    expect(work).toThrow(
      configurationError([
        'database.poolSize: must not be less than 1',
        'database.shards[2].primaryUrl: must be a postgres:// or postgresql:// URL',
        'tenancy.maxLength: must not be less than 1',
        'tenancy.source: "jwt" needs exactly one of jwtSecret, jwtPublicKey and jwksUrl',
        'database.directoryShardRouter: needs a control database; set database.primaryUrl',
        'database.shards[1].primaryUrl: is the same database as database.shards[0].primaryUrl',
        'database.shards[1]: the name "a" is taken by shards[0]',
        'database.shards[2]: name must match [a-z0-9_-]+, not "\\u00c4"',
        'database.shards[2]: group must be an integer in 0..255, not 300',
        'database.shards: shard "a": invalid slot "x": write 5, "5" or "0-8191"',
        'database.shards[1]: slot 9 is already owned by shard "a"',
        'database.shards: the slots 0..16383 must each have an owner; unassigned: 16383',
        'typeorm.synchronize: is decided by the library',
      ]),
    );
  });

  it('is invalid_topology, status 500', () => {
    const error = configurationError(['a', 'b']);
    expect(error).toBeInstanceOf(ShardingError);
    expect(error.toJSON()).toEqual({
      code: 'invalid_topology',
      message: 'the sharding configuration has problems:\n  - a\n  - b',
    });
    expect(error.status).toBe(500);
  });
});

/** The parts that can be changed, less the lists of classes that the user passed. */
function unfrozen(value: unknown, path = 'settings'): string[] {
  const users = /topology|Entities|subscribers|migrations\./;
  if (typeof value !== 'object' || value === null || users.test(path)) return [];
  const own = Object.isFrozen(value) ? [] : [path];
  return [...own, ...Object.entries(value).flatMap(([key, below]) => unfrozen(below, `${path}.${key}`))];
}
