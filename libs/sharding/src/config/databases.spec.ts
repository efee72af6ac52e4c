import { describe, expect, it } from '@jest/globals';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { ShardOptions } from '../shard.options.js';
import type { DatabaseOptions } from '../sharding.options.js';

const resolve = (database: DatabaseOptions) => resolveOptions({ database }, 'toml');
const shards = (...urls: string[]): ShardOptions[] =>
  urls.map((primaryUrl, n) => ({ name: `s${n}`, primaryUrl }));
const same = (key: string, first: string) =>
  configurationError([`database.${key}: is the same database as database.${first}`]);

describe('two shards on one database', () => {
  it.each([
    ['postgres://db/a', 'postgres://db/a'],
    ['postgres://db/a', 'postgresql://db:5432/a'],
    ['postgres://db/a', 'postgres://other:secret@DB./a?application_name=x'],
    ['postgres://db/a', 'postgres://db/%61'],
    ['postgres://db:6000/a', 'postgres://elsewhere/a?host=db&port=6000'],
    ['postgres://localhost/a', 'postgres://127.0.0.1/a'],
    ['postgres://127.0.0.1/a', 'postgres://[::1]:5432/a'],
    ['postgres://localhost/a', 'postgres:///a'],
    ['postgres://localhost/a', 'postgres://127.8.8.8/a'],
    ['postgres://localhost/a', 'postgres://127.1/a'],
    ['postgres://localhost/a', 'postgres://0.0.0.0/a'],
    ['postgres://localhost/a', 'postgres://[::ffff:127.0.0.1]/a'],
    ['postgres://a@db', 'postgres://b@db/a'],
  ])('%s and %s are refused', (first, second) => {
    expect(() => resolve({ shards: shards(first, second) })).toThrow(
      same('shards[1].primary_url', 'shards[0].primary_url'),
    );
  });

  it.each([
    ['postgres://db/a', 'postgres://db/A'],
    ['postgres://db/a', 'postgres://db:5433/a'],
    ['postgres://db/a', 'postgres://db2/a'],
    ['postgres://a@db/x', 'postgres://a@db/y'],
    ['postgres://localhost/a', 'postgres://localhost.example.com/a'],
    ['postgres:///a?host=/run/one', 'postgres:///a?host=/run/two'],
  ])('%s and %s are two databases', (first, second) => {
    expect(resolve({ shards: shards(first, second) }).shards).toHaveLength(2);
  });
});

it('no shard has the name of the control database', () => {
  expect(() => resolve({ shards: [{ name: 'control', primaryUrl: 'postgres://db/a' }] })).toThrow(
    configurationError([
      'database.shards[0].name: "control" is the name of the control database in logs, health and metrics',
    ]),
  );
});

describe('other databases that must differ', () => {
  it('are a shard and control', () => {
    expect(() =>
      resolve({ primaryUrl: 'postgres://db/a', shards: shards('postgres://db/b', 'postgres://db/a') }),
    ).toThrow(same('shards[1].primary_url', 'primary_url'));
    expect(() => resolve({ url: 'postgres://db/a', shards: shards('postgres://db/a') })).toThrow(
      same('shards[0].primary_url', 'url'),
    );
  });

  it('are a replica and any primary or other replica', () => {
    const [a, b] = shards('postgres://db/a', 'postgres://db/b');
    const replicaUrl = 'postgres://replica/a';
    expect(() => resolve({ shards: [{ ...a!, replicaUrl: 'postgres://db:5432/a' }] })).toThrow(
      same('shards[0].replica_url', 'shards[0].primary_url'),
    );
    expect(() =>
      resolve({
        shards: [
          { ...a!, replicaUrl },
          { ...b!, replicaUrl },
        ],
      }),
    ).toThrow(same('shards[1].replica_url', 'shards[0].replica_url'));
  });

  it('are the maintenance URL of one and the database of another', () => {
    const [a, b] = shards('postgres://pooler/a', 'postgres://pooler/b');
    const maintenanceUrl = 'postgres://direct/a';
    expect(() =>
      resolve({
        shards: [
          { ...a!, maintenanceUrl },
          { ...b!, maintenanceUrl },
        ],
      }),
    ).toThrow(same('shards[1].maintenance_url', 'shards[0].maintenance_url'));
    expect(() =>
      resolve({ url: 'postgres://c/c', maintenanceUrl: 'postgres://pooler/a', shards: [a!, b!] }),
    ).toThrow(same('maintenance_url', 'shards[0].primary_url'));
    expect(resolve({ shards: [{ ...a!, maintenanceUrl: a!.primaryUrl }, b!] }).shards).toHaveLength(2);
  });
});

describe('the control database', () => {
  it('may be absent when there are shards', () => {
    expect(resolve({ shards: shards('postgres://db/a') }).control).toBeUndefined();
  });

  it('is needed when there are none', () => {
    const none = configurationError([
      'database.primary_url: no database is configured; set it, or declare shards',
    ]);
    expect(() => resolve({})).toThrow(none);
    expect(() => resolve({ poolSize: 3, shards: [] })).toThrow(none);
    expect(() => resolveOptions({}, 'toml')).toThrow(none);
  });

  it('has one URL: url and primary_url must agree', () => {
    expect(() => resolve({ url: 'postgres://db/a', primaryUrl: 'postgres://db/b' })).toThrow(
      configurationError([
        'database.url: differs from database.primary_url; both name the control database, set one',
      ]),
    );
    expect(resolve({ url: 'postgres://db/a', primaryUrl: 'postgres://db/a' }).unsharded).toBe(true);
  });

  it('must have a pool of at least 2 for the directory router (C11)', () => {
    const refused = (...problems: string[]) =>
      configurationError(problems.map((problem) => `database.directory_shard_router: ${problem}`));
    const small = 'needs a control database pool of at least 2 connections; raise database.primary_pool_size';
    const options = { url: 'postgres://c/c', shards: shards('postgres://db/a'), directoryShardRouter: true };
    expect(() => resolve({ ...options, poolSize: 1 })).toThrow(refused(small));
    expect(() => resolve({ ...options, poolSize: 5, primaryPoolSize: 1 })).toThrow(refused(small));
    expect(resolve({ ...options, poolSize: 1, primaryPoolSize: 2 }).directory.enabled).toBe(true);
    expect(() => resolve({ directoryShardRouter: true, shards: options.shards })).toThrow(
      refused('needs a control database; set database.primary_url'),
    );
    expect(resolve({ ...options, directoryShardRouter: false, poolSize: 1 }).control).toBeDefined();
  });

  it('must be there for a strict guard of the slot map', () => {
    const options = { shards: shards('postgres://db/a') };
    expect(() => resolve({ ...options, slotMapGuard: 'strict' })).toThrow(
      configurationError([
        'database.slot_map_guard: "strict" needs a control database, which remembers the slot map; set database.primary_url, or choose "warn"',
      ]),
    );
    expect(resolve({ ...options, slotMapGuard: 'warn' }).slotMapGuard).toBe('warn');
    expect(resolve({ ...options, slotMapGuard: 'strict', url: 'postgres://c/c' }).slotMapGuard).toBe(
      'strict',
    );
    expect(resolve({ url: 'postgres://c/c', slotMapGuard: 'strict' }).unsharded).toBe(true);
  });

  it('must be reached by the directory router without a transaction-mode pooler', () => {
    const options = {
      url: 'postgres://c/c',
      shards: shards('postgres://db/a'),
      directoryShardRouter: true,
      pooler: 'transaction' as const,
    };
    expect(() => resolve(options)).toThrow(
      configurationError([
        'database.directory_shard_router: listens for changes, which a transaction-mode pooler does not pass on; set database.maintenance_url, a direct connection',
      ]),
    );
    expect(resolve({ ...options, maintenanceUrl: 'postgres://d/c' }).directory.enabled).toBe(true);
  });
});

describe('a URL that cannot be parsed', () => {
  it.each([
    ['primary_url', (url: string) => ({ primaryUrl: url })],
    ['url', (url: string) => ({ url })],
    ['maintenance_url', (url: string) => ({ url: 'postgres://c/c', maintenanceUrl: url })],
    ['shards[0].primary_url', (url: string) => ({ shards: shards(url) })],
    [
      'shards[0].replica_url',
      (url: string) => ({ shards: [{ ...shards('postgres://a/a')[0]!, replicaUrl: url }] }),
    ],
    [
      'shards[0].maintenance_url',
      (url: string) => ({ shards: [{ ...shards('postgres://a/a')[0]!, maintenanceUrl: url }] }),
    ],
  ])('is named by its key and not shown: %s', (key, database) => {
    for (const url of [
      'postgres://u:hunter2#@h/a',
      'postgres://u:hunter2@h:99999/a',
      'postgres://u:hunter2@h/a?port=x',
    ]) {
      expect(() => resolve(database(url))).toThrow(
        configurationError([`database.${key}: cannot be parsed as a PostgreSQL URL`]),
      );
    }
  });
});
