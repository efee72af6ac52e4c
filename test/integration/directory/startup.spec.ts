import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HashRouter, ShardRouter } from '@app/routing';
import { DirectoryConnection, DirectoryRouter, Pins, Shards } from '@app/sharding';
import { TestCluster, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { bootApp } from '../../support/deployment.js';
import { PooledDeployment, POOLERS } from '../../support/poolers.js';
import { Placed, placesOf } from './placed.js';
import { RecordedLog } from './recorded-log.js';
import type { INestApplication } from '@nestjs/common';

let placed: Placed;

beforeAll(async () => {
  placed = await Placed.create();
  await placed.row('acme', 'shard1');
});
afterEach(() => placed.closeApps());

const only = (app: INestApplication) => app.get(DirectoryConnection).opened[0]!.directory;
const flag = { directoryShardRouter: true } as const;
/** With these nobody needs the recorded slot map. */
const explicit = () => ({
  ...flag,
  shards: placed.databases.shards.map((primaryUrl, index) => ({
    name: `shard${index}`,
    primaryUrl,
    slots: [index === 0 ? '0-8191' : '8192-16383'],
  })),
});
const router = { useClass: DirectoryRouter } as const;

describe('a boot without what a directory needs', () => {
  it.each([
    [
      'the flag',
      flag,
      {},
      'database.directoryShardRouter: needs a control database; set database.primaryUrl',
    ],
    ['a router', {}, { router }, 'a DirectoryRouter needs a control database: set [database] primary_url'],
  ])('fails without a control database: %s', async (_by, database, setup, message) => {
    const booted = bootApp({ database: { shards: explicit().shards, ...database }, ...setup } as object);
    await expect(booted).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    [
      'the flag',
      flag,
      {},
      'database.directoryShardRouter: needs a control database pool of at least 2 connections; raise database.primaryPoolSize',
    ],
    [
      'a router',
      {},
      { router },
      'a DirectoryRouter needs a control database pool of at least 2 connections; raise [database] primary_pool_size',
    ],
  ])('fails with a pool of one connection: %s', async (_by, database, setup, message) => {
    const booted = placed.boot({ database: { primaryPoolSize: 1, ...database }, ...setup });
    await expect(booted).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining(message),
    });
  });

  it('is fine with a pool of two', async () => {
    const app = await placed.boot({ database: { primaryPoolSize: 2, ...flag } });
    expect(await placesOf(app, 'acme')).toEqual(['shard1']);
  });

  it('fails without the migrations', async () => {
    const primaryUrl = await TestCluster.attach().createDatabase({ label: 'bare' });
    await expect(placed.boot({ database: { primaryUrl, ...explicit() } })).rejects.toMatchObject({
      code: 'migrations_pending',
      message: 'the control database has no directory: run the migrations (shardctl migrate, or migrate())',
    });
    const rows = await runOnce(primaryUrl, 'select from pg_stat_activity where datname = current_database()');
    expect(rows).toHaveLength(1); // the one that asks
  });
});

describe('without shards', () => {
  it('the one database is control and shard, and the directory works', async () => {
    const app = await bootApp({ database: { primaryUrl: placed.databases.control, poolSize: 3, ...flag } });
    try {
      expect(await placesOf(app, 'globex', 'acme', 7)).toEqual(['default', 'invalid_pin', 'default']);
      await app.get(Pins).pin('acme', 'default');
      expect(await placesOf(app, 'acme')).toEqual(['default']);
      const db = await app.get(Shards).dbFor('acme');
      await db.tx(({ manager }) => app.get(Pins).unpin('acme', { manager }));
      expect(await app.get(Pins).list()).toEqual([]);
    } finally {
      await app.close();
      await placed.row('acme', 'shard1');
    }
  });
});

describe('a directory that is opened after the boot', () => {
  it('is read and followed at once', async () => {
    class Late extends ShardRouter {
      #inner: DirectoryRouter | undefined;
      constructor(private readonly connection: DirectoryConnection) {
        super();
      }
      override route(...question: Parameters<ShardRouter['route']>) {
        const inner = (this.#inner ??= new DirectoryRouter(this.connection));
        return inner.route(...question);
      }
    }
    const app = await placed.boot({
      router: { inject: [DirectoryConnection], useFactory: (one: DirectoryConnection) => new Late(one) },
    });
    expect(app.get(DirectoryConnection).opened).toEqual([]);
    await waitFor(async () => (await placesOf(app, 'acme'))[0] === 'shard1', { what: 'the pin to be known' });
    expect(only(app).listening).toBe(true);
  });
});

describe.each(POOLERS)('behind %s in transaction mode', (_name, start) => {
  let pooled: PooledDeployment;

  beforeAll(async () => {
    pooled = await PooledDeployment.start(start);
  });
  afterEach(() => pooled.closeApps());
  afterAll(() => pooled?.dispose());

  it('fails without maintenance_url, whoever makes the router', async () => {
    await expect(pooled.boot(flag)).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining(
        'database.directoryShardRouter: listens for changes, which a transaction-mode pooler does not pass on; set database.maintenanceUrl',
      ),
    });
    await expect(pooled.boot({}, { router } as object)).rejects.toMatchObject({
      code: 'invalid_topology',
      message:
        'a DirectoryRouter listens for changes, which a transaction-mode pooler does not pass on: set [database] maintenance_url, a direct connection',
    });
  });

  it('listens on maintenance_url, and writes through the pooler', async () => {
    const { control } = pooled.databases;
    const app = await pooled.boot({ maintenanceUrl: control, ...flag });
    const listeners = await runOnce(
      control,
      `select from pg_stat_activity where datname = current_database()
         and application_name = 'nestjs-sharding directory control'`,
    );
    expect([only(app).listening, listeners.length]).toEqual([true, 1]);
    expect(await placesOf(app, 'acme')).toEqual(['shard0']);
    await runOnce(
      control,
      `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'gone')`,
    );
    await waitFor(async () => (await placesOf(app, 'acme'))[0] === 'invalid_pin', {
      what: 'the pin to arrive',
      timeoutMs: 900, // less than a heartbeat
    });
    await app.get(Pins).pin('acme', 'shard0', { by: 'jo' });
    expect(await placesOf(app, 'acme')).toEqual(['shard0']);
    expect(await runOnce(control, 'select who from _sharding_placement_log order by id')).toEqual([
      { who: 'postgres' },
      { who: 'jo' },
    ]);
    await app.get(Pins).unpin('acme');
  });
});

describe('the role of the application', () => {
  const role = `reader_${process.pid}`;
  let primaryUrl: string;

  beforeAll(async () => {
    await placed.control(`create role ${role} login password 'secret'`);
    const url = new URL(placed.databases.control);
    url.username = role;
    url.password = 'secret';
    primaryUrl = url.href;
  });
  afterAll(async () => {
    await placed.closeApps();
    await placed.control(`drop owned by ${role}`);
    await placed.control(`drop role ${role}`);
  });

  it('must be allowed to read the tables', async () => {
    await expect(placed.boot({ database: { primaryUrl, ...explicit() } })).rejects.toMatchObject({
      code: 'directory_unavailable',
      message:
        'this role may not use the directory: grant it select on the _sharding_ tables of control, and what it changes them by',
    });
  });

  it('needs no more than that: only moves then do not know of the process', async () => {
    await placed.control(
      `grant select on _sharding_directory, _sharding_directory_changes, _sharding_revision to ${role}`,
    );
    const log = new RecordedLog();
    const app = await placed.boot({ database: { primaryUrl, ...explicit() } }, {}, { logger: log });
    expect(await placesOf(app, 'acme')).toEqual(['shard1']);
    await placed.row('acme', 'shard0');
    await waitFor(async () => (await placesOf(app, 'acme'))[0] === 'shard0', { what: 'the pin to arrive' });
    expect(log.warnings('directory')).toEqual([
      'warn: _sharding_moves cannot be read (42501): while rows move, reads of all shards may count them twice',
      'warn: _sharding_processes cannot be written (42501): moves will not know what this process routes by',
    ]);
    await expect(app.get(Pins).pin('acme', 'shard1')).rejects.toThrow('permission denied');
  });

  it('may write what it cannot read any more: the log says that this process does not know it yet', async () => {
    await placed.control(`grant insert, update, delete on _sharding_directory to ${role}`);
    const log = new RecordedLog();
    const app = await placed.boot({ database: { primaryUrl, ...explicit() } }, {}, { logger: log });
    await app.get(Pins).pin('acme', 'shard1');
    expect(log.warnings('pins')).toEqual([]);
    await placed.control(`revoke select on _sharding_directory_changes from ${role}`);
    try {
      await app.get(Pins).pin('acme', 'shard0');
      const [row] = await placed.control('select revision from _sharding_revision');
      expect(await placesOf(app, 'acme')).toEqual(['shard1']);
      expect(log.warnings('pins')).toEqual([
        `warn: revision ${String(row!['revision'])} of the directory is committed, and other processes route by it; this one does not know it yet`,
      ]);
    } finally {
      await placed.control(`grant select on _sharding_directory_changes to ${role}`);
      await placed.control(`revoke insert, update, delete on _sharding_directory from ${role}`);
    }
  });

  it('is seen among the processes with rights on _sharding_processes, and knows what moves', async () => {
    await placed.control(`grant select on _sharding_moves, _sharding_move_subjects to ${role}`);
    await placed.control(`grant select, insert, update, delete on _sharding_processes to ${role}`);
    const log = new RecordedLog();
    const app = await placed.boot({ database: { primaryUrl, ...explicit() } }, {}, { logger: log });
    const processes = () =>
      placed.control('select name, revision, lease_until > now() as lives from _sharding_processes');
    const [row] = await placed.control('select revision from _sharding_revision');
    expect(await processes()).toEqual([
      {
        name: expect.stringMatching(new RegExp(`:${process.pid}$`)),
        revision: row!['revision'],
        lives: true,
      },
    ]);
    expect(log.warnings('directory')).toEqual([]);
    await app.close();
    expect(await processes()).toEqual([]);
  });
});

it('a plain router opens no directory', async () => {
  const app = await placed.boot({ router: new HashRouter() });
  expect(app.get(DirectoryConnection).opened).toEqual([]);
});
