import { createTopology } from './create-topology.js';
import { movedSlots } from './moved-slots.js';
import type { RoutingKey } from './routing-key.js';
import { routeKey, type RoutingRules, type ShardRouter } from './shard-router.js';
import { ShardingError } from './sharding-error.js';
import { slotOf } from './slot.js';
import type { Topology } from './topology.js';

/** The parts of Jest's injected globals that the contract needs; it imports nothing from outside the library. */
declare const it: (sentence: string, test: () => Promise<void>) => void;
declare const expect: (actual: unknown) => { toEqual(expected: unknown): void };

/** What the contract must know about a router that does not follow the slot map for every key. */
export interface RouterContractOptions {
  /** Names for the shards of the contract's topologies, at least two: name those the router pins to. */
  readonly shards?: readonly string[];
  /** Keys the router places by itself; they need not follow their slot. Routed like all others otherwise. */
  readonly pinned?: readonly RoutingKey[];
}

const KEYS: readonly RoutingKey[] = [
  ...Array.from({ length: 300 }, (_, n) => `tenant-${n}`),
  ...Array.from({ length: 300 }, (_, n) => n - 150),
  ...Array.from({ length: 100 }, (_, n) => Uint8Array.of(n, 255 - n)),
  '',
  'constructor',
  '__proto__',
  'café',
  '日本',
  '🏢',
  2n ** 63n - 1n,
  -(2n ** 63n),
];

/**
 * The tests every {@link ShardRouter} must pass. Call it inside a `describe` of a Jest spec:
 *
 * ```ts
 * describe('WhaleRouter', () => routerContract(() => new WhaleRouter(), { shards: ['shard0', 'whale'], pinned: ['whale-corp'] }));
 * ```
 *
 * @param make a fresh router for one test; the topology is handed to it at each call
 */
export function routerContract(
  make: () => ShardRouter | Promise<ShardRouter>,
  options: RouterContractOptions = {},
): void {
  const { shards = ['shard0', 'shard1', 'shard2'], pinned = [] } = options;
  const keys = [...KEYS, ...pinned];
  const evenly = createTopology(shards.map((name) => ({ name })));

  it('sends the same key to the same shard, also when asked many times at once', async () => {
    const router = await make();
    const first = await routeAll(router, keys, evenly);
    const atOnce = await Promise.all([0, 1, 2].map(() => routeAll(router, keys, evenly)));
    expect(atOnce).toEqual([first, first, first]);
  });

  it('names only shards of the topology it was given', async () => {
    const router = await make();
    for (const names of [shards, shards.toReversed()]) {
      const topology = createTopology(names.map((name) => ({ name })));
      const answers = await Promise.all(keys.map(async (key) => router.route(key, topology)));
      expect(answers.filter(({ name }) => !names.includes(name))).toEqual([]);
    }
  });

  it('sends an integer to the same shard as number and as bigint', async () => {
    const router = await make();
    const integers = keys.filter((key) => typeof key === 'number');
    const asBigints = await routeAll(router, integers.map(BigInt), evenly);
    expect(asBigints).toEqual(await routeAll(router, integers, evenly));
  });

  it('moves the keys of a moved slot and no others', async () => {
    const router = await make();
    const [before, after] = beforeAndAfterMove(shards);
    const moved = new Set(movedSlots(before, after).map(({ slot }) => slot));
    const from = await routeAll(router, keys, before);
    const to = await routeAll(router, keys, after);
    const free = keys
      .map((key, i) => ({ key, moved: from[i] !== to[i] }))
      .filter(({ key }) => !pinned.includes(key));
    expect(free).toEqual(free.map(({ key }) => ({ key, moved: moved.has(slotOf(key)) })));
  });

  groupContract(make, keys, shards);
}

/** What a router does with the group it is given; one that does not know groups may only be refused. */
function groupContract(
  make: () => ShardRouter | Promise<ShardRouter>,
  keys: readonly RoutingKey[],
  shards: readonly string[],
): void {
  const grouped = createTopology([
    ...shards.map((name) => ({ name })),
    { name: 'group7-0', group: OTHER_GROUP },
    { name: 'group7-1', group: OTHER_GROUP },
  ]);

  it('sends a key of which no group is known, and a key of group 0, to one and the same shard', async () => {
    const router = await make();
    const unsaid = await routeAll(router, keys, grouped);
    expect(await routeAll(router, keys, { topology: grouped, groupOf: () => undefined })).toEqual(unsaid);
    expect(await routeAll(router, keys, { topology: grouped, groupOf: () => 0 })).toEqual(unsaid);
    expect(unsaid.filter((name) => !shards.includes(name))).toEqual([]);
  });

  it('places a key of another group inside that group or nowhere', async () => {
    const router = await make();
    const rules = { topology: grouped, groupOf: () => OTHER_GROUP };
    const answers = await Promise.all(keys.map(async (key) => nameOrRefusal(router, key, rules)));
    const allowed = ['group7-0', 'group7-1', 'residency_violation'];
    expect(answers.filter((answer) => !allowed.includes(answer))).toEqual([]);
    const again = await Promise.all(keys.map(async (key) => nameOrRefusal(router, key, rules)));
    expect(again).toEqual(answers);
  });
}

/** A group that has shards besides group 0. */
const OTHER_GROUP = 7;

async function nameOrRefusal(router: ShardRouter, key: RoutingKey, rules: RoutingRules): Promise<string> {
  try {
    return (await routeKey(router, key, rules)).name;
  } catch (error) {
    if (error instanceof ShardingError) return error.code;
    throw error;
  }
}

async function routeAll(
  router: ShardRouter,
  keys: readonly RoutingKey[],
  rules: Topology | RoutingRules,
): Promise<string[]> {
  const answers = await Promise.all(keys.map(async (key) => routeKey(router, key, rules)));
  return answers.map(({ name }) => name);
}

/** All slots but the last 4,096 on the first shard and those on the second; then 4,096 of the first move over. */
function beforeAndAfterMove([source = '', destination = '', ...drained]: readonly string[]): [
  Topology,
  Topology,
] {
  const others = drained.map((name) => ({ name, slots: [] }));
  return [
    createTopology([
      { name: source, slots: ['0-12287'] },
      { name: destination, slots: ['12288-16383'] },
      ...others,
    ]),
    createTopology([
      { name: source, slots: ['4096-12287'] },
      { name: destination, slots: ['0-4095', '12288-16383'] },
      ...others,
    ]),
  ];
}
