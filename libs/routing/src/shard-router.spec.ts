import { describe, expect, it } from '@jest/globals';
import {
  createTopology,
  HashRouter,
  routeKey,
  ShardingError,
  ShardRouter,
  type GroupOf,
  type RoutingKey,
  type Topology,
  type TopologyShard,
} from './index.js';
import { routerContract } from './router.contract.js';

class WhaleRouter extends ShardRouter {
  override async route(key: RoutingKey, topology: Topology, group?: number): Promise<TopologyShard> {
    if (key === 'whale-corp') return topology.byName('whale');
    return topology.shardOf(key, group);
  }
}

/** Written before there were groups. */
class GrouplessRouter extends ShardRouter {
  override route(key: RoutingKey, topology: Topology): TopologyShard {
    return topology.shardOf(key);
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

  it('answers with the owner of the slot inside the group it is given', () => {
    const shards = createTopology([...topology.shards, { name: 'eu', group: 4 }]);
    expect(new HashRouter().route('acme', shards, 4)).toBe(shards.byName('eu'));
    expect(new HashRouter().route('acme', shards, undefined)).toBe(shards.byName('shard0'));
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

describe('a router that knows no groups', () => {
  routerContract(() => new GrouplessRouter());
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

describe('groups', () => {
  const shards = createTopology([
    { name: 'shard0' },
    { name: 'shard1' },
    { name: 'eu0', group: 4 },
    { name: 'eu1', group: 4 },
  ]);
  const groupOf: GroupOf = (key) => (String(key).startsWith('eu-') ? 4 : undefined);
  const rules = { topology: shards, groupOf };

  it('lead a key to the owner of its slot inside its group', () => {
    const keys = Array.from({ length: 200 }, (_, n) => `tenant-${n}`);
    for (const key of [...keys, ...keys.map((name) => `eu-${name}`)]) {
      const group = key.startsWith('eu-') ? 4 : 0;
      expect(routeKey(new HashRouter(), key, rules)).toBe(shards.shardOf(key, group));
    }
  });

  it('are asked for once a key, and not at all for a value that is no key', async () => {
    const asked: RoutingKey[] = [];
    const counting: GroupOf = (key) => void asked.push(key);
    await routeKey(new HashRouter(), 'acme', { topology: shards, groupOf: counting });
    expect(() => routeKey(new HashRouter(), 1.5, { topology: shards, groupOf: counting })).toThrow();
    expect(asked).toEqual(['acme']);
  });

  it('reach the router, undefined where no rule names one', async () => {
    const seen: unknown[] = [];
    class SeeingRouter extends HashRouter {
      override route(key: RoutingKey, all: Topology, group?: number) {
        seen.push(group);
        return super.route(key, all, group);
      }
    }
    for (const key of ['eu-acme', 'acme']) await routeKey(new SeeingRouter(), key, rules);
    await routeKey(new SeeingRouter(), 'eu-acme', shards);
    await routeKey(new SeeingRouter(), 'eu-acme', { topology: shards });
    expect(seen).toEqual([4, undefined, undefined, undefined]);
  });

  it.each<[string, string, string]>([
    [
      'eu-acme',
      'shard1',
      'AnsweringRouter answered with shard "shard1" of group 0 for a key of group 4; ' +
        'the data may live only there: answer with a shard of the group the router is given',
    ],
    [
      'acme',
      'eu1',
      'AnsweringRouter answered with shard "eu1" of group 4 ' +
        'for a key that no groupOf puts into a group, which is group 0; name its group in groupOf',
    ],
  ])('are never left: %s on %s', async (key, name, message) => {
    await expect(asked(new AnsweringRouter(shards.byName(name)), key, rules)).rejects.toMatchObject({
      code: 'residency_violation',
      status: 403,
      message,
    });
    const atOnce = { route: () => shards.byName(name) };
    expect(() => routeKey(atOnce, key, rules)).toThrow(
      expect.objectContaining({ code: 'residency_violation' }),
    );
  });

  it('are never left by a shard of an older topology, whose group may have been another', async () => {
    const older = createTopology([{ name: 'eu0' }]).byName('eu0');
    await expect(asked(new AnsweringRouter(older), 'acme', rules)).rejects.toMatchObject({
      code: 'residency_violation',
    });
    expect(await routeKey(new AnsweringRouter(older), 'eu-acme', rules)).toBe(shards.byName('eu0'));
  });

  it('may be known to the router itself where the rule names none, and only there', async () => {
    class KnowingRouter extends AnsweringRouter {
      override readonly groups = 'own';
    }
    const router = new KnowingRouter(shards.byName('eu1'));
    expect(await routeKey(router, 'acme', rules)).toBe(shards.byName('eu1'));
    expect(await routeKey(router, 'acme', shards)).toBe(shards.byName('eu1'));
    expect(await routeKey(router, 'eu-acme', rules)).toBe(shards.byName('eu1'));
    await expect(asked(new KnowingRouter(shards.byName('shard0')), 'eu-acme', rules)).rejects.toMatchObject({
      code: 'residency_violation',
    });
  });

  it('are an affair of the options unless the router says otherwise', () => {
    expect(new HashRouter().groups).toBeUndefined();
    expect(Object.keys(new HashRouter())).toEqual([]);
  });

  const refusal = 'it must answer at once with an integer in 0..255 or undefined';
  it.each<[string, unknown, string]>([
    ['without shards', () => 3, 'groupOf answered with group 3, which has no shards; groups: 0, 4'],
    ['too large', () => 256, `groupOf answered with a number that is no group; ${refusal}`],
    ['negative', () => -1, `groupOf answered with a number that is no group; ${refusal}`],
    ['fractional', () => 0.5, `groupOf answered with a number that is no group; ${refusal}`],
    ['NaN', () => NaN, `groupOf answered with a number that is no group; ${refusal}`],
    ['text', () => '4', `groupOf answered with a string; ${refusal}`],
    ['null', () => null, `groupOf answered with null; ${refusal}`],
    ['a promise', async () => 4, `groupOf answered with a promise; ${refusal}`],
    [
      'a promise that fails',
      async () => Promise.reject(new Error('late')),
      `groupOf answered with a promise; ${refusal}`,
    ],
  ])('that are none are an error, never a fallback: %s', (_, rule, message) => {
    const route = () => {
      throw new Error('must not be asked');
    };
    expect(() => routeKey({ route }, 'secret-key', { topology: shards, groupOf: rule as GroupOf })).toThrow(
      expect.objectContaining({ code: 'out_of_topology', message }),
    );
  });

  it('whose rule fails are an error, with what it threw as the cause', () => {
    const cause = new TypeError('key.startsWith is not a function');
    const failing: GroupOf = () => {
      throw cause;
    };
    expect(() => routeKey(new HashRouter(), 42, { topology: shards, groupOf: failing })).toThrow(
      expect.objectContaining({
        code: 'out_of_topology',
        message: 'groupOf failed; it must answer every routing key with a group or undefined',
        cause,
      }),
    );
  });

  it('whose rule refuses a key in the words of the library pass that on', () => {
    const refusing: GroupOf = () => {
      throw new ShardingError('invalid_tenant', 'tenants are named by country');
    };
    expect(() => routeKey(new HashRouter(), 'x', { topology: shards, groupOf: refusing })).toThrow(
      expect.objectContaining({ code: 'invalid_tenant' }),
    );
  });
});
