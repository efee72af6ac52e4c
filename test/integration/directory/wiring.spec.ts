import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Global, Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HashRouter, ShardRouter } from '@app/routing';
import {
  DirectoryConnection,
  DirectoryRouter,
  loadShardingOptions,
  ShardingModule,
  type ShardingAsyncOptions,
} from '@app/sharding';
import { Placed, placesOf } from './placed.js';
import type { INestApplication } from '@nestjs/common';
import type { RoutingKey, Topology, TopologyShard } from '@app/routing';

/** `acme` hashes to shard0, and is pinned to shard1. */
let placed: Placed;

beforeAll(async () => {
  placed = await Placed.create();
  await placed.row('acme', 'shard1');
});

afterEach(() => placed.closeApps());

const opened = (app: INestApplication) => app.get(DirectoryConnection).opened.length;

/** Everything on shard0 but for one key. */
class WhaleRouter extends HashRouter {
  override route(key: RoutingKey, topology: Topology) {
    return key === 'whale-corp' ? topology.byName('shard1') : topology.byName('shard0');
  }
}

@Injectable()
class PinnedOrWhale extends DirectoryRouter {
  constructor(@Inject(DirectoryConnection) connection: DirectoryConnection) {
    super(connection, { fallback: new WhaleRouter() });
  }
}

/** Numbers even and odd; all else is asked of the directory. */
@Injectable()
class EvenOdd extends ShardRouter {
  override readonly groups = 'own';
  readonly #directory: DirectoryRouter;

  constructor(@Inject(DirectoryConnection) connection: DirectoryConnection) {
    super();
    this.#directory = new DirectoryRouter(connection);
  }

  override route(key: RoutingKey, topology: Topology, group?: number) {
    if (typeof key === 'number') return topology.byName(`shard${key % 2}`);
    return this.#directory.route(key, topology, group);
  }
}

describe('directory_shard_router = true', () => {
  it('in the options', async () => {
    const app = await placed.boot({ database: { directoryShardRouter: true } });
    expect([opened(app), await placesOf(app, 'acme', 'globex')]).toEqual([1, ['shard1', 'shard1']]);
  });

  it('in TOML, and in the environment over it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sharding-'));
    const file = join(directory, 'sharding.toml');
    try {
      await writeFile(file, '[database]\ndirectory_shard_router = true\ndirectory_on_outage = "fail"\n');
      const settings = (environment: Record<string, string>) =>
        loadShardingOptions({ file, environment }).database;
      expect(settings({})).toMatchObject({ directoryShardRouter: true, directoryOnOutage: 'fail' });
      const off = settings({ SHARDING_DATABASE__DIRECTORY_SHARD_ROUTER: 'false' });
      const apps = [
        await placed.boot({ database: settings({}) }),
        await placed.boot({ database: off }),
        await placed.boot({
          database: settings({ SHARDING_DATABASE__DIRECTORY_SHARD_ROUTER: 'true' }),
        }),
      ];
      expect(apps.map(opened)).toEqual([1, 0, 1]);
      expect(await Promise.all(apps.map((app) => placesOf(app, 'acme')))).toEqual([
        ['shard1'],
        ['shard0'],
        ['shard1'],
      ]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('is off by default: the directory is not read', async () => {
    const app = await placed.boot();
    expect([opened(app), await placesOf(app, 'acme', 'globex')]).toEqual([0, ['shard0', 'shard1']]);
  });

  it('consults the directory for strings only', async () => {
    await placed.row('1', 'shard1');
    await placed.row('5', 'shard0');
    const [flagged, plain] = [
      await placed.boot({ database: { directoryShardRouter: true } }),
      await placed.boot(),
    ];
    const bytes = new TextEncoder().encode('acme');
    expect(await placesOf(flagged, 1, 5, bytes)).toEqual(await placesOf(plain, 1, 5, bytes));
    expect(await placesOf(flagged, '1', '5')).toEqual(['shard1', 'shard0']);
  });
});

describe('a router of one’s own', () => {
  const KEYS = ['acme', 'whale-corp', 'globex'] as const;

  it('wins over the flag as an instance, and the directory is then not read', async () => {
    const app = await placed.boot({
      database: { directoryShardRouter: true },
      router: new WhaleRouter(),
    });
    expect([opened(app), await placesOf(app, ...KEYS)]).toEqual([0, ['shard0', 'shard1', 'shard0']]);
  });

  it.each([
    ['useClass', { useClass: WhaleRouter }, 0, ['shard0', 'shard1', 'shard0']],
    ['useClass of the DirectoryRouter', { useClass: DirectoryRouter }, 1, ['shard1', 'shard0', 'shard1']],
    ['useClass of a subclass of it', { useClass: PinnedOrWhale }, 1, ['shard1', 'shard1', 'shard0']],
    [
      'useFactory with a fallback',
      {
        inject: [DirectoryConnection],
        useFactory: async (connection: DirectoryConnection) =>
          new DirectoryRouter(connection, { fallback: new WhaleRouter() }),
      },
      1,
      ['shard1', 'shard1', 'shard0'],
    ],
  ])('is made by Nest with %s', async (_form, router, directories, places) => {
    const app = await placed.boot({ database: { directoryShardRouter: true }, router });
    expect([opened(app), await placesOf(app, ...KEYS)]).toEqual([directories, places]);
  });

  it('may ask a DirectoryRouter of its own', async () => {
    const app = await placed.boot({ router: { useClass: EvenOdd } });
    expect([opened(app), await placesOf(app, 'acme', 'globex', 2, 3)]).toEqual([
      1,
      ['shard1', 'shard1', 'shard0', 'shard1'],
    ]);
  });

  it('exists elsewhere with useExisting', async () => {
    @Global()
    @Module({ providers: [PinnedOrWhale], exports: [PinnedOrWhale] })
    class RouterModule {}
    const app = await placed.boot({ router: { useExisting: PinnedOrWhale } }, { imports: [RouterModule] });
    expect([opened(app), await placesOf(app, ...KEYS)]).toEqual([1, ['shard1', 'shard1', 'shard0']]);
  });

  it('is made from what a module exports, in forRoot({ imports })', async () => {
    @Module({ providers: [WhaleRouter], exports: [WhaleRouter] })
    class WhaleModule {}
    const app = await placed.boot({
      imports: [WhaleModule],
      router: {
        inject: [DirectoryConnection, WhaleRouter],
        useFactory: (connection: DirectoryConnection, fallback: WhaleRouter) =>
          new DirectoryRouter(connection, { fallback }),
      },
    });
    expect(await placesOf(app, ...KEYS)).toEqual(['shard1', 'shard1', 'shard0']);
  });
});

describe('forRootAsync', () => {
  const WHALE = Symbol('whale');

  @Module({ providers: [{ provide: WHALE, useClass: WhaleRouter }], exports: [WHALE] })
  class WhaleModule {}

  const boot = async (setup: Partial<ShardingAsyncOptions>, fields: object = {}) => {
    const options = placed.databases.options({ directoryShardRouter: true });
    @Module({
      imports: [ShardingModule.forRootAsync({ useFactory: () => ({ ...options, ...fields }), ...setup })],
    })
    class Root {}
    const app = await NestFactory.create(Root, { logger: false, abortOnError: false });
    return app.init();
  };

  it.each<[string, Partial<ShardingAsyncOptions>, object, string[]]>([
    ['the flag', {}, {}, ['shard1', 'shard0']],
    ['an instance in the options', {}, { router: new WhaleRouter() }, ['shard0', 'shard1']],
    ['useClass', { router: { useClass: PinnedOrWhale } }, {}, ['shard1', 'shard1']],
    ['an instance beside the options', { router: new WhaleRouter() }, {}, ['shard0', 'shard1']],
    [
      'useExisting of an imported module',
      { imports: [WhaleModule], router: { useExisting: WHALE } },
      {},
      ['shard0', 'shard1'],
    ],
    [
      'useFactory with what an imported module exports',
      {
        imports: [WhaleModule],
        router: {
          inject: [DirectoryConnection, WHALE],
          useFactory: (connection: DirectoryConnection, fallback: ShardRouter) =>
            new DirectoryRouter(connection, { fallback }),
        },
      },
      {},
      ['shard1', 'shard1'],
    ],
  ])('takes %s', async (_form, setup, fields, places) => {
    const app = await boot(setup, fields);
    try {
      expect(await placesOf(app, 'acme', 'whale-corp')).toEqual(places);
    } finally {
      await app.close();
    }
  });

  it('refuses a router that is none, whichever way it comes', async () => {
    const none = { useFactory: () => ({}) as ShardRouter };
    await expect(boot({ router: none })).rejects.toThrow('router: must be a ShardRouter');
    await expect(boot({}, { router: { useClass: WhaleRouter } })).rejects.toThrow('router');
  });
});

describe('two DirectoryRouters in one process', () => {
  /** Each asks its own: strings in lower case the first, all others the second. */
  class Twins extends ShardRouter {
    readonly #first: DirectoryRouter;
    readonly #second: DirectoryRouter;

    constructor(connection: DirectoryConnection) {
      super();
      this.#first = new DirectoryRouter(connection);
      this.#second = new DirectoryRouter(connection, { snapshotMax: 1 });
    }

    override route(key: RoutingKey, topology: Topology): TopologyShard | Promise<TopologyShard> {
      return (key === 'acme' ? this.#first : this.#second).route(key, topology);
    }
  }

  it('own a listener and a cache each', async () => {
    const app = await placed.boot({
      router: {
        inject: [DirectoryConnection],
        useFactory: (connection: DirectoryConnection) => new Twins(connection),
      },
    });
    await placed.row('globex', 'shard0');
    await placed.settled();
    expect(await placesOf(app, 'acme', 'globex')).toEqual(['shard1', 'shard0']);
    const directories = app.get(DirectoryConnection).opened.map(({ directory }) => directory);
    expect(directories.map(({ mode, listening }) => [mode, listening])).toEqual([
      ['snapshot', true],
      ['per_key', true],
    ]);
    const listeners = await placed.control(
      `select from pg_stat_activity where datname = current_database() and application_name like '%directory%'`,
    );
    expect(listeners).toHaveLength(2);
  });
});
