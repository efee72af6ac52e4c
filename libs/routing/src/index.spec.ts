import { expect, it } from '@jest/globals';
import * as routing from './index.js';
import type {
  GroupOf,
  IdSource,
  IdStrategyOptions,
  KeyStrategyOptions,
  MaybePromise,
  MovedSlot,
  ParsedSlots,
  Place,
  PlaceOptions,
  RouterGroups,
  RoutingKey,
  RoutingRules,
  ShardedId,
  ShardInput,
  ShardingErrorCode,
  ShardingStrategy,
  SlotPlace,
  SlotRange,
  SlotSpec,
  TopologyShard,
  UnregisteredShard,
} from './index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

it('exports these values and no others', () => {
  expect(Object.keys(routing).toSorted()).toEqual([
    'EmbeddedBitsStrategy',
    'HashRouter',
    'MAX_GROUP',
    'MAX_MEMBER',
    'NoShardingStrategy',
    'SHARDING_ERRORS',
    'SLOT_COUNT',
    'ShardIdentifier',
    'ShardRouter',
    'ShardSelector',
    'ShardedUuid',
    'ShardedUuidGenerator',
    'ShardingError',
    'SlotStrategy',
    'SlotUuid',
    'SlotUuidGenerator',
    'Topology',
    'assertRoutingKey',
    'autoSplit',
    'createTopology',
    'hashOfString',
    'movedSlots',
    'parseSlots',
    'printSlots',
    'routeKey',
    'routingKeyProblem',
    'shardOfPlace',
    'slotOf',
    'slotOfHash',
    'topologyProblems',
  ]);
});

it('has these signatures', () => {
  holds<Equal<RoutingKey, string | number | bigint | Uint8Array>>();
  holds<Equal<SlotSpec, number | string>>();
  holds<Equal<typeof routing.slotOf, (key: RoutingKey) => number>>();
  holds<Equal<typeof routing.parseSlots, (specs: readonly SlotSpec[]) => ParsedSlots>>();
  holds<Equal<typeof routing.printSlots, (slots: Iterable<number | SlotRange>) => string>>();
  holds<Equal<typeof routing.topologyProblems, (shards: readonly ShardInput[]) => string[]>>();
  holds<Equal<typeof routing.createTopology, (shards: readonly ShardInput[]) => routing.Topology>>();
  holds<Equal<ReturnType<typeof routing.movedSlots>, MovedSlot[]>>();
  holds<Equal<ReturnType<routing.ShardRouter['route']>, TopologyShard | Promise<TopologyShard>>>();
  holds<Equal<GroupOf, (key: RoutingKey) => number | undefined>>();
  holds<Equal<routing.ShardRouter['groups'], RouterGroups | undefined>>();
  holds<Equal<Parameters<typeof routing.routeKey>[2], routing.Topology | RoutingRules>>();
  holds<Equal<Place, routing.ShardIdentifier | SlotPlace>>();
  holds<Equal<PlaceOptions['unregisteredShard'], UnregisteredShard | undefined>>();
  holds<Equal<ReturnType<ShardingStrategy<object>['ofEntity']>, MaybePromise<Place | undefined>>>();
  holds<Equal<Parameters<ShardingStrategy<object, number>['ofId']>, [id: number]>>();
  holds<Equal<IdStrategyOptions<{ code: string }>['id'], 'code' | undefined>>();
  holds<Equal<KeyStrategyOptions<{ code: string }>['key'], 'code'>>();
  holds<Equal<ConstructorParameters<typeof routing.SlotUuidGenerator>, [source?: IdSource | undefined]>>();
  holds<ShardedId extends string ? true : false>();
  holds<Equal<routing.ShardingError['code'], ShardingErrorCode>>();
  expect(routing.SLOT_COUNT).toBe(16384);
});
