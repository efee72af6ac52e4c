import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ShardedUuid, slotOf } from '@app/routing';
import { DirectoryConnection, Pins, Shards } from '@app/sharding';
import { bootApp, deployment, type Deployment } from '../support/deployment.js';
import type { INestApplication, Type } from '@nestjs/common';
import type { ShardRouter } from '@app/routing';
import type { DatabaseOptions, ShardingRootOptions } from '@app/sharding';

/** The README's snippets about placement, run as they are written. */
const FOLDER = resolve('test/.tmp/readme-placement');
const NAMES = ['whales.service.ts', 'whale.router.ts', 'pinned-whales.ts', 'residency.ts'];
const readme = readFileSync('README.md', 'utf8');

interface Whales {
  isolate(tenantId: string, by: string): Promise<void>;
  release(tenantId: string, by: string): Promise<boolean>;
  signUp(tenantId: string, fail: boolean): Promise<void>;
  all(): Promise<object[]>;
}

interface Customers {
  create(tenantId: string, country: string): Promise<number>;
  swissShards(): Promise<string[]>;
  accountId(country: string): string;
}

let place: Deployment;
let app: INestApplication | undefined;

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true });
  for (const name of NAMES) {
    const [, body = ''] = new RegExp(`^\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(readme) ?? [];
    writeFileSync(join(FOLDER, name), body);
  }
});
afterEach(() => app?.close());
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const load = async <T>(name: string): Promise<T> => (await import(join(FOLDER, name))) as T;

const boot = async (sharding: ShardingRootOptions, providers: Type[] = []) => {
  app = await bootApp({ ...place.options(), ...sharding } as Parameters<typeof bootApp>[0], { providers });
  return app;
};

const shardOf = async (key: string) => (await app!.get(Shards).shardFor(key)).name;

describe('pins', () => {
  it('are written by a service, alone and in its transaction', async () => {
    place = await deployment(2);
    const { WhalesService } = await load<{ WhalesService: Type<Whales> }>('whales.service.ts');
    const whales = (await boot(place.options({ directoryShardRouter: true }), [WhalesService])).get(
      WhalesService,
    );
    await whales.isolate('acme', 'jo');
    await whales.signUp('initech', false);
    await expect(whales.signUp('hooli', true)).rejects.toThrow('no contract');
    expect([await shardOf('acme'), await whales.all()]).toEqual([
      'shard1',
      [
        { key: 'acme', shard: 'shard1', note: 'a fifth of all requests' },
        { key: 'initech', shard: 'shard1', note: 'signed up' },
      ],
    ]);
    expect([await whales.release('acme', 'jo'), await shardOf('acme')]).toEqual([true, 'shard0']);
    expect(await whales.release('acme', 'jo')).toBe(false);
    const log = await place.query(
      'control',
      'select who, routing_key as key, why from _sharding_placement_log order by id',
    );
    expect(log).toEqual([
      { who: 'jo', key: 'acme', why: 'a fifth of all requests' },
      { who: 'postgres', key: 'initech', why: 'signed up' },
      { who: 'jo', key: 'acme', why: 'has shrunk' },
    ]);
  });

  it('need no more of the application’s role than the README grants', async () => {
    place = await deployment(2);
    const [, grants = ''] = /^```sql\n(grant [\s\S]*?)^```/m.exec(readme) ?? [];
    const role = `readme_${process.pid}`;
    await place.query('control', `create role ${role} login password 'secret'`);
    try {
      await place.query('control', grants.replaceAll(/ to app;/g, ` to ${role};`));
      const primaryUrl = Object.assign(new URL(place.control), { username: role, password: 'secret' }).href;
      await place.query(
        'control',
        `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'shard1')`,
      );
      await boot(place.options({ primaryUrl, directoryShardRouter: true }));
      expect(await shardOf('acme')).toBe('shard1');
      const processes = 'select name from _sharding_processes';
      expect(await place.query('control', processes)).toHaveLength(1);
      await expect(app!.get(Pins).pin('acme', 'shard0')).rejects.toThrow('permission denied');
      await place.query('control', `grant insert, update, delete on _sharding_directory to ${role}`);
      await app!.get(Pins).pin('acme', 'shard0');
      expect(await shardOf('acme')).toBe('shard0');
      await app!.close();
      expect(await place.query('control', processes)).toEqual([]);
    } finally {
      await app?.close();
      await place.query('control', `drop owned by ${role}`);
      await place.query('control', `drop role ${role}`);
    }
  });
});

describe('a whale router', () => {
  const KEYS = ['whale-corp', 'acme', 'globex'];
  const shards = () =>
    ['shard0', 'whale'].map((name, index) => ({
      name,
      primaryUrl: place.shards[index]!,
      slots: index === 0 ? ['0-16383'] : [],
    }));

  beforeAll(async () => {
    place = await deployment(2);
    await place.query(
      'control',
      `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'whale')`,
    );
  });

  it('sends one tenant to a shard of its own', async () => {
    const { WhaleRouter } = await load<{ WhaleRouter: new () => ShardRouter }>('whale.router.ts');
    await boot({ ...place.options({ shards: shards() }), router: new WhaleRouter() });
    expect(await Promise.all(KEYS.map(shardOf))).toEqual(['whale', 'shard0', 'shard0']);
    const shardsOfSlot = async (key: string) => {
      const found = await app!.get(Shards).shardsOfPlace({ group: 0, slot: slotOf(key) });
      return found.map(({ name }) => name);
    };
    expect(await Promise.all(KEYS.map(shardsOfSlot))).toEqual([['shard0', 'whale'], ['shard0'], ['shard0']]);
  });

  it('is the fallback of a directory with options of its own', async () => {
    const { router } = await load<Required<ShardingRootOptions>>('pinned-whales.ts');
    await boot({ ...place.options({ shards: shards() }), router });
    expect(await Promise.all(KEYS.map(shardOf))).toEqual(['whale', 'whale', 'shard0']);
    expect(app!.get(DirectoryConnection).opened).toHaveLength(1);
  });
});

it('groups hold the tenants that were placed in them', async () => {
  place = await deployment(2);
  const snippet = await load<{
    CustomersService: Type<Customers>;
    residency(database: DatabaseOptions): ShardingRootOptions;
  }>('residency.ts');
  const { CustomersService, residency } = snippet;
  const shards = place.shards.map((primaryUrl, index) => ({
    name: index === 0 ? 'eu' : 'swiss',
    primaryUrl,
    group: 7 * index,
  }));
  const options = place.options({ shards });
  const sharding = { ...options, ...residency(options.database) };
  const customers = (await boot(sharding, [CustomersService])).get(CustomersService);
  expect([await customers.create('acme', 'CH'), await customers.create('globex', 'DE')]).toEqual([7, 0]);
  await expect(customers.create('hooli', 'US')).rejects.toThrow('data from US');
  await expect(customers.create('ch-1', 'DE')).rejects.toMatchObject({ code: 'residency_violation' });
  expect(await Promise.all(['acme', 'globex', 'hooli', 'ch-1'].map(shardOf))).toEqual([
    'swiss',
    'eu',
    'eu',
    'swiss',
  ]);
  expect(await customers.swissShards()).toEqual(['swiss']);
  const countries = ['CH', 'DE'];
  const identifiers = countries.map((country) => ShardedUuid.identifier(customers.accountId(country)));
  expect(identifiers.map(String)).toEqual(['(7,0)', '(0,0)']);
});
