import { describe, expect, it } from '@jest/globals';
import {
  createTopology,
  HashRouter,
  routeKey,
  ShardRouter,
  type RoutingKey,
  type Topology,
  type TopologyShard,
} from './index.js';
import { routerContract } from './router.contract.js';

class WhaleRouter extends ShardRouter {
  override async route(key: RoutingKey, topology: Topology): Promise<TopologyShard> {
    if (key === 'whale-corp') return topology.byName('whale');
    return topology.shardOfSlot(topology.slotOf(key));
  }
}

class AnsweringRouter extends ShardRouter {
  constructor(private readonly answer: unknown) {
    super();
  }
  override async route(): Promise<TopologyShard> {
    return this.answer as TopologyShard;
  }
}

const topology = createTopology([{ name: 'shard0' }, { name: 'shard1' }]);

describe('HashRouter', () => {
  routerContract(() => new HashRouter());

  it('answers with the owner of the slot', async () => {
    expect(new HashRouter().route('acme', topology)).toBe(topology.byName('shard0'));
    expect(new HashRouter().route('globex', topology)).toBe(topology.byName('shard1'));
  });

  it('needs a group 0', async () => {
    const elsewhere = createTopology([{ name: 'eu', group: 1 }]);
    await expect(asked(new HashRouter(), 'acme', elsewhere)).rejects.toMatchObject({
      code: 'out_of_topology',
      message: 'no shard is in group 0; groups: 1',
    });
  });
});

describe('a router that pins a whale', () => {
  routerContract(() => new WhaleRouter(), { shards: ['shard0', 'shard1', 'whale'], pinned: ['whale-corp'] });

  it('sends the whale to its shard, which owns no slots, and all others by their slot', async () => {
    const shards = createTopology([
      { name: 'shard0', slots: ['0-8191'] },
      { name: 'shard1', slots: ['8192-16383'] },
      { name: 'whale', slots: [] },
    ]);
    const router = new WhaleRouter();
    expect((await routeKey(router, 'whale-corp', shards)).name).toBe('whale');
    expect((await routeKey(router, 'acme', shards)).name).toBe('shard0');
    expect((await routeKey(router, 'globex', shards)).name).toBe('shard1');
  });

  it('passes on what the router throws', async () => {
    await expect(asked(new WhaleRouter(), 'whale-corp', topology)).rejects.toMatchObject({
      code: 'out_of_topology',
      message: 'WhaleRouter answered with unknown shard "whale"; known shards: shard0, shard1',
      cause: { code: 'unknown_shard' },
    });
  });
});

/** A refusal is thrown at once or rejects, as the router answers: callers await it either way. */
const asked = async (...parts: Parameters<typeof routeKey>) => routeKey(...parts);

describe('routeKey', () => {
  it('accepts a shard of an older topology by its name and answers with the own one', async () => {
    const older = createTopology([{ name: 'shard1' }]);
    const answer = await routeKey(new AnsweringRouter(older.byName('shard1')), 'acme', topology);
    expect(answer).toBe(topology.byName('shard1'));
  });

  it.each([
    [createTopology([{ name: 'gone' }]).byName('gone'), 'shard "gone"'],
    [{ name: 'constructor' }, 'shard "constructor"'],
    [{ name: 7 }, 'shard 7'],
    [{}, 'no shard'],
    ['shard0', 'no shard'],
    [null, 'no shard'],
    [undefined, 'no shard'],
  ])('refuses the answer %j', async (answer, said) => {
    await expect(asked(new AnsweringRouter(answer), 'acme', topology)).rejects.toMatchObject({
      code: 'out_of_topology',
      message: `AnsweringRouter answered with ${said}; known shards: shard0, shard1`,
    });
  });

  it('refuses a value that is no key before the router sees it', async () => {
    const router = new AnsweringRouter(topology.byName('shard0'));
    for (const key of [undefined, null, 1.5, '\ud800', 'a\u0000b', {}]) {
      await expect(asked(router, key as string, topology)).rejects.toMatchObject({
        code: 'invalid_routing_key',
      });
    }
  });
});
