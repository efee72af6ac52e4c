import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HashRouter, ShardRouter } from '@app/routing';
import { DirectoryConnection, DirectoryRouter, Shards } from '@app/sharding';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { byPrefix, Grouped } from './groups.js';
import { placesOf } from './placed.js';
import { RecordedLog } from './recorded-log.js';
import type { INestApplication } from '@nestjs/common';
import type { GroupOf, RoutingKey, Topology } from '@app/routing';
import type { DatabaseOptions } from '@app/sharding';
import type { Placed } from './placed.js';

/** Two groups of a deployment, or three of another one. */
const grouped = new Map<number, Grouped>();

beforeAll(async () => {
  for (const groups of [2, 3] as const) grouped.set(groups, await Grouped.create(groups));
});
afterEach(async () => {
  for (const { placed } of grouped.values()) {
    await placed.closeApps();
    await placed.clear();
  }
});

/** The deployment, and the options of its databases. */
function of(groups: 2 | 3): { placed: Placed; database: DatabaseOptions } {
  const one = grouped.get(groups)!;
  return { placed: one.placed, database: one.database() };
}

const problems = (app: INestApplication) => {
  const [{ problems: found } = { problems: undefined }] = app.get(DirectoryConnection).opened;
  return [found?.count('unknown_shard'), found?.count('unknown_group'), found?.count('outside_group')];
};

describe('who says the group of a key', () => {
  it('nobody: group 0, by its slot map', async () => {
    const { placed, database } = of(3);
    const app = await placed.boot({ database });
    const keys = Array.from({ length: 50 }, (_, n) => `eu-${n}`);
    expect(new Set(await placesOf(app, ...keys))).toEqual(new Set(['shard0', 'shard1']));
  });

  it.each(['with', 'without'])('groupOf, %s the directory', async (directory) => {
    const { placed, database } = of(3);
    const app = await placed.boot({
      database: { ...database, directoryShardRouter: directory === 'with' },
      groupOf: byPrefix,
    });
    expect(await placesOf(app, 'eu-1', 'mx-1', 'acme', 'globex', 7)).toEqual([
      'eu0',
      'mx0',
      'shard0',
      'shard1',
      app.get(Shards).topology.shardOf(7).name,
    ]);
  });

  it('the row of the key', async () => {
    const { placed, database } = of(2);
    const app = await placed.boot({ database });
    await placed.row('acme', null, 7);
    await placed.row('globex', 'eu0', 7);
    await placed.row('initech', 'shard1', 0);
    await placed.settled();
    expect(await placesOf(app, 'acme', 'globex', 'initech')).toEqual(['eu0', 'eu0', 'shard1']);
    expect(problems(app)).toEqual([0, 0, 0]);
  });

  it('both, where they agree or groupOf is silent', async () => {
    const { placed, database } = of(3);
    const app = await placed.boot({ database, groupOf: byPrefix });
    await placed.row('eu-1', 'eu0', 7);
    await placed.row('eu-2', 'eu0');
    await placed.row('acme', null, 9);
    await placed.settled();
    expect(await placesOf(app, 'eu-1', 'eu-2', 'eu-3', 'acme', 'globex')).toEqual([
      'eu0',
      'eu0',
      'eu0',
      'mx0',
      'shard1',
    ]);
    expect(problems(app)).toEqual([0, 0, 0]);
  });
});

describe('a row by raw SQL outside the group of its key', () => {
  it('is ignored, said once in the log, and counted in health', async () => {
    const { placed, database } = of(3);
    const log = new RecordedLog();
    const app = await placed.boot({ database, groupOf: byPrefix }, {}, { logger: log });
    await placed.row('eu-1', 'shard0');
    await placed.row('mx-1', 'eu0', 9);
    await placed.row('eu-2', null, 9);
    await placed.row('acme', 'mx0');
    await placed.settled();
    expect(await placesOf(app, 'eu-1', 'mx-1', 'eu-2', 'acme')).toEqual(['eu0', 'mx0', 'eu0', 'shard0']);
    const ignored = (key: string, named: string) =>
      `error: the row of routing key "${key}" names ${named}, outside the group of the key: the row is ignored`;
    expect(log.warnings('directory')).toEqual([
      ignored('eu-1', 'shard "shard0"'),
      ignored('mx-1', 'shard "eu0"'),
      ignored('eu-2', 'group 9'),
      ignored('acme', 'shard "mx0"'),
    ]);
    const { body } = await call(`${await listen(app)}/health`);
    expect((body as { details: object }).details).toMatchObject({
      'db:directory': {
        status: 'up',
        rows: 4,
        unknown_shard_rows: 0,
        unknown_group_rows: 0,
        outside_group_rows: 4,
      },
    });
    await placed.row('acme', 'mx0', 9);
    await placed.settled();
    expect([await placesOf(app, 'acme'), problems(app)]).toEqual([['mx0'], [0, 0, 3]]);
  });
});

describe('a router that answers outside the group', () => {
  class Careless extends HashRouter {
    override route(_key: RoutingKey, topology: Topology) {
      return topology.byName('shard0');
    }
  }

  class OwnGroups extends ShardRouter {
    override readonly groups = 'own';
    constructor(private readonly inner: ShardRouter) {
      super();
    }
    override route(...question: Parameters<ShardRouter['route']>) {
      return this.inner.route(...question);
    }
  }

  class Unaware extends ShardRouter {
    constructor(private readonly inner: ShardRouter) {
      super();
    }
    override route(key: RoutingKey, topology: Topology, group?: number) {
      return this.inner.route(key, topology, group);
    }
  }

  const directory = (wrap: (inner: DirectoryRouter) => ShardRouter, fallback?: ShardRouter) => ({
    inject: [DirectoryConnection],
    useFactory: (connection: DirectoryConnection) =>
      wrap(new DirectoryRouter(connection, fallback ? { fallback } : {})),
  });

  it('is refused, whatever it is', async () => {
    const { placed, database } = of(3);
    const app = await placed.boot({
      database,
      groupOf: byPrefix,
      router: new Careless(),
    });
    expect(await placesOf(app, 'eu-1', 'globex')).toEqual(['residency_violation', 'shard0']);
    const error = await app
      .get(Shards)
      .shardFor('eu-1')
      .catch((refusal: Error) => refusal.message);
    expect(error).toContain('Careless answered with shard "shard0" of group 0 for a key of group 7');
  });

  it('is refused as the fallback of a DirectoryRouter, by groupOf and by row', async () => {
    const { placed, database } = of(3);
    await placed.row('acme', null, 7);
    const router = directory((inner) => inner, new Careless());
    const app = await placed.boot({ database, groupOf: byPrefix, router });
    expect(await placesOf(app, 'eu-1', 'acme', 'globex')).toEqual([
      'residency_violation',
      'residency_violation',
      'shard0',
    ]);
  });

  it('may hand over the groups of a DirectoryRouter only where it says so', async () => {
    const { placed, database } = of(2);
    await placed.row('acme', null, 7);
    const says = await placed.boot({ database, router: directory((inner) => new OwnGroups(inner)) });
    const silent = await placed.boot({ database, router: directory((inner) => new Unaware(inner)) });
    expect([await placesOf(says, 'acme', 'globex'), await placesOf(silent, 'acme', 'globex')]).toEqual([
      ['eu0', 'shard1'],
      ['residency_violation', 'shard1'],
    ]);
  });
});

describe('a group without shards is an error and never a fallback', () => {
  it.each<[string, GroupOf]>([
    ['says one', () => 5],
    ['says none of 0 to 255', () => 256],
    ['says no number', () => 'eu' as unknown as number],
    ['says it later', () => Promise.resolve(7) as unknown as number],
    [
      'fails',
      () => {
        throw new Error('broken rule');
      },
    ],
  ])('where groupOf %s', async (_what, groupOf) => {
    const { placed, database } = of(2);
    const app = await placed.boot({ database, groupOf });
    await placed.row('acme', 'shard0');
    await placed.settled();
    expect(await placesOf(app, 'acme', 'globex', 7)).toEqual(Array(3).fill('out_of_topology'));
  });

  it('where a row says one: for that tenant, and the row is named', async () => {
    const { placed, database } = of(2);
    const log = new RecordedLog();
    const app = await placed.boot({ database }, {}, { logger: log });
    await placed.row('acme', null, 5);
    await placed.row('globex', 'eu0', 5);
    await placed.settled();
    expect(await placesOf(app, 'acme', 'globex', 'hooli')).toEqual([
      'invalid_pin',
      'invalid_pin',
      app.get(Shards).topology.shardOf('hooli').name,
    ]);
    await expect(app.get(Shards).shardFor('acme')).rejects.toMatchObject({
      message: `the directory's row of routing key "acme" names group 5, which has no shards: correct the row`,
    });
    expect(problems(app)).toEqual([0, 2, 0]);
    expect(log.warnings('directory')).toEqual([
      'error: the row of routing key "acme" names group 5, which has no shards: its requests are refused',
      'error: the row of routing key "globex" names group 5, which has no shards: its requests are refused',
    ]);
  });
});

describe('what is shown of the groups', () => {
  it('health, the JSON and Prometheus say the group of each shard', async () => {
    const { placed, database } = of(2);
    const url = await listen(await placed.boot({ database }));
    const { body: health } = await call(`${url}/health`);
    const { body: report } = await call(`${url}/actuator/metrics`);
    const groups = (places: Record<string, { group?: number }>) =>
      Object.entries(places).flatMap(([name, { group }]) => (group === undefined ? [] : [[name, group]]));
    expect(groups((health as { details: Record<string, object> }).details)).toEqual([
      ['db:shard:shard0', 0],
      ['db:shard:shard1', 0],
      ['db:shard:eu0', 7],
    ]);
    expect(groups((report as { database_shards: Record<string, object> }).database_shards)).toEqual([
      ['shard0', 0],
      ['shard1', 0],
      ['eu0', 7],
    ]);
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text.match(/^sharding_shard_info.*$/gm)).toEqual([
      'sharding_shard_info{shard="shard0",group="0"} 1',
      'sharding_shard_info{shard="shard1",group="0"} 1',
      'sharding_shard_info{shard="eu0",group="7"} 1',
    ]);
  });
});
