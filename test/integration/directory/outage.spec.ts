import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ShardRouter } from '@app/routing';
import { DirectoryConnection, DirectoryRouter, Pins } from '@app/sharding';
import { waitFor } from '@test/support';
import { databaseOf, runOnce, withClient, withDatabase } from '../../support/admin-query.js';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { Placed, placesOf } from './placed.js';
import type { INestApplication } from '@nestjs/common';
import type { Topology } from '@app/routing';

/** Three routers with options of their own, chosen by the first letter of the key. */
class Three extends ShardRouter {
  readonly #routers: Record<string, DirectoryRouter>;

  constructor(connection: DirectoryConnection) {
    super();
    this.#routers = {
      s: new DirectoryRouter(connection),
      f: new DirectoryRouter(connection, { onOutage: 'fail', maxStalenessMs: 5000 }),
      k: new DirectoryRouter(connection, { snapshotMax: 1, cacheTtlMs: 300 }),
    };
  }

  override route(key: string, topology: Topology, group?: number) {
    return this.#routers[key[0]!]!.route(key, topology, group);
  }
}

let placed: Placed;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  placed = await Placed.create();
  for (const key of ['serve', 'fail', 'key']) await placed.row(key, 'shard1');
  app = await placed.boot({
    database: { directoryMaxStalenessMs: 60_000 },
    router: {
      inject: [DirectoryConnection],
      useFactory: (connection: DirectoryConnection) => new Three(connection),
    },
  });
  url = await listen(app);
});
afterAll(() => placed.closeApps());

describe('a change that fired no trigger', () => {
  const silently = (sql: string) =>
    withClient(placed.databases.control, async (client) => {
      await client.query('set session_replication_role = replica');
      await client.query(sql);
    });

  it('is seen after the TTL of the router where keys are looked up, and not where all are in memory', async () => {
    expect(await placesOf(app, 'serve', 'key')).toEqual(['shard1', 'shard1']);
    await silently(`update _sharding_directory set shard_name = 'shard0'`);
    await waitFor(async () => (await placesOf(app, 'key'))[0] === 'shard0', { what: 'the TTL to end' });
    expect(await placesOf(app, 'serve')).toEqual(['shard1']);
    await placed.control(`update _sharding_directory set note = 'said aloud'`);
    await placed.settled();
    expect(await placesOf(app, 'serve')).toEqual(['shard0']);
  });
});

describe('while the control database takes no connections', () => {
  const admin = () => withDatabase(placed.databases.control, 'postgres');
  const name = () => databaseOf(placed.databases.control);

  beforeAll(async () => {
    expect(await placesOf(app, 'key')).toEqual(['shard0']);
    await runOnce(admin(), `alter database ${name()} allow_connections false`);
    await runOnce(admin(), 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      name(),
    ]);
  });
  afterAll(() => runOnce(admin(), `alter database ${name()} allow_connections true`));

  it('each router does what it was told', async () => {
    await waitFor(async () => (await placesOf(app, 'fail'))[0] === 'directory_unavailable', {
      what: 'the router that fails to fail',
      timeoutMs: 15_000,
    });
    expect(await placesOf(app, 'serve', 'fail', 'key', 'kilo')).toEqual([
      'shard0',
      'directory_unavailable',
      'shard0', // looked up before
      'directory_unavailable', // perhaps pinned
    ]);
    await expect(app.get(Pins).pin('serve', 'shard1')).rejects.toMatchObject({ code: 'shard_unavailable' });
  });

  it('health says so of each, and since when', async () => {
    const { body } = await call(`${url}/health`);
    const { details, error } = body as Record<'details' | 'error', Record<string, object>>;
    const of = ['db:directory', 'db:directory:2', 'db:directory:3'].map((key) => details[key]);
    const stale = { listening: false, stale_since: expect.stringMatching(/^\d{4}-.*Z$/) };
    expect(of).toEqual([
      expect.objectContaining({ status: 'up', mode: 'snapshot', rows: 3, ...stale }),
      expect.objectContaining({ status: 'down', mode: 'snapshot', rows: 3, ...stale }),
      expect.objectContaining({ status: 'up', mode: 'per_key', ...stale }),
    ]);
    expect(Object.keys(error)).toEqual(expect.arrayContaining(['db:control', 'db:directory:2']));
  });

  it('all is well afterwards', async () => {
    await runOnce(admin(), `alter database ${name()} allow_connections true`);
    await waitFor(async () => (await placesOf(app, 'fail'))[0] === 'shard0', {
      what: 'the directory to be back',
    });
    await waitFor(
      () =>
        app
          .get(Pins)
          .pin('serve', 'shard1')
          .then(() => true),
      { what: 'the pool to be back' },
    );
    await placed.settled();
    expect(await placesOf(app, 'serve')).toEqual(['shard1']);
  });
});
