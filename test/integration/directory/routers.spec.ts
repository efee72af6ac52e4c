import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTopology, HashRouter, routeKey } from '@app/routing';
import { routerContract } from '@app/routing/contract';
import { DirectoryConnection, DirectoryRouter } from '@app/sharding';
import { Placed, placesOf } from './placed.js';
import type { INestApplication } from '@nestjs/common';
import type { DirectoryRouterOptions } from '@app/sharding';
import type { RoutingKey, Topology } from '@app/routing';

/** One key by name, all others by the slot map. */
class WhaleRouter extends HashRouter {
  override route(key: RoutingKey, topology: Topology, group?: number) {
    return key === 'whale-corp' ? topology.byName('whale') : super.route(key, topology, group);
  }
}

const SHARDS = ['shard0', 'shard1', 'whale'];
const PINNED = ['acme', 'globex', 'tenant-7', 'café', '🏢', ''];

let placed: Placed;
let app: INestApplication;

beforeAll(async () => {
  placed = await Placed.create();
  app = await placed.boot();
  for (const [index, key] of PINNED.entries()) await placed.row(key, SHARDS[index % 3]!);
});
afterAll(() => placed.closeApps());

/** Opened after the boot: read at the first question that waits for it. */
async function routerWith(options: DirectoryRouterOptions): Promise<DirectoryRouter> {
  const connection = app.get(DirectoryConnection);
  const router = new DirectoryRouter(connection, options);
  await placed.settled();
  return router;
}

describe('DirectoryRouter with all pins in memory', () => {
  routerContract(() => routerWith({}), { shards: SHARDS, pinned: PINNED });
});

describe('DirectoryRouter that looks each key up', () => {
  routerContract(() => routerWith({ snapshotMax: 1 }), { shards: SHARDS, pinned: PINNED });
});

describe('DirectoryRouter before a whale router', () => {
  const pinned = [...PINNED, 'whale-corp'];
  routerContract(() => routerWith({ fallback: new WhaleRouter() }), { shards: SHARDS, pinned });
});

describe('WhaleRouter', () => {
  routerContract(() => new WhaleRouter(), { shards: SHARDS, pinned: ['whale-corp'] });
});

describe('a fallback', () => {
  it('is asked for the keys without a pin only, strings or not', async () => {
    const asked: RoutingKey[] = [];
    class Noting extends HashRouter {
      override route(key: RoutingKey, topology: Topology, group?: number) {
        asked.push(key);
        return super.route(key, topology, group);
      }
    }
    const router = await routerWith({ fallback: new Noting() });
    const topology = createTopology(SHARDS.map((name) => ({ name })));
    for (const key of ['acme', 'initech', 7]) await routeKey(router, key, topology);
    expect(asked).toEqual(['initech', 7]);
  });

  it.each<[string, () => unknown]>([
    ['nothing', () => undefined],
    ['null, later', async () => null],
    ['something else', () => ({ shard: 'shard0' })],
    ['a shard that is not there', () => ({ name: 'gone' })],
  ])('that answers with %s is out_of_topology', async (_what, answer) => {
    class Silent extends HashRouter {
      override route() {
        return answer() as never;
      }
    }
    const router = await routerWith({ fallback: new Silent() });
    const topology = createTopology(SHARDS.map((name) => ({ name })));
    for (const key of ['initech', 7]) {
      await expect((async () => routeKey(router, key, topology))()).rejects.toMatchObject({
        code: 'out_of_topology',
        message: 'Silent, which the directory asks, answered with no shard',
      });
    }
    expect(await routeKey(router, 'acme', topology)).toBe(topology.byName('shard0'));
  });
});

describe('the options of a router', () => {
  it('cannot be more impatient than the directory can tell', async () => {
    const refusal = {
      code: 'invalid_topology',
      message:
        'a DirectoryRouter cannot know sooner that the directory is not read: set its maxStalenessMs to 5000 at least',
    };
    await expect(routerWith({ onOutage: 'fail', maxStalenessMs: 4999 })).rejects.toMatchObject(refusal);
    await expect(placed.boot({ database: { directoryMaxStalenessMs: 4999 } })).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringMatching(/directoryMaxStalenessMs.*5000/),
    });
    const { opened } = app.get(DirectoryConnection);
    const before = opened.length;
    await routerWith({ onOutage: 'fail', maxStalenessMs: 5000 });
    expect(opened.length).toBe(before + 1);
  });

  it('win over the configured ones', async () => {
    const configured = { directorySnapshotMax: 1, directoryOnOutage: 'fail' } as const;
    const own = await placed.boot({
      database: configured,
      router: {
        inject: [DirectoryConnection],
        useFactory: (connection: DirectoryConnection) =>
          new DirectoryRouter(connection, { snapshotMax: 1000, cacheTtlMs: 2000, onOutage: 'serve_stale' }),
      },
    });
    const plain = await placed.boot({ database: configured, router: { useClass: DirectoryRouter } });
    const modes = [own, plain].map((one) => one.get(DirectoryConnection).opened[0]!.directory.mode);
    expect(modes).toEqual(['snapshot', 'per_key']);
    for (const one of [own, plain])
      expect(await placesOf(one, 'acme', 'globex')).toEqual(['shard0', 'shard1']);
  });
});
