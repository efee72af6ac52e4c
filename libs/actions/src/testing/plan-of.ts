import { randomUUID } from 'node:crypto';
import { offlinePlaces, resolveOptions } from '@app/sharding';
import { actionTraits } from '../action/action.decorator.js';
import { ActionPlan } from '../plan/action-plan.js';
import { placePlan } from '../plan/place-plan.js';
import { PlannedAction } from './planned-action.js';
import type { RoutingKey, ShardInput } from '@app/routing';
import type { Action } from '../action/action.decorator.js';

/** Where an action is planned. */
export interface PlanOptions {
  /** As in the configuration; nothing of them exists. */
  readonly shards: readonly ShardInput[];
  readonly entities: readonly (new (...args: never[]) => object)[];
  /** The routing key that the action runs by. */
  readonly key?: RoutingKey;
}

/**
 * Runs `perform` of an action and groups what it stages by shard, as the executor would, for unit tests: no server is asked.
 * What the action reads is given to its constructor. Keys are hashed; pins, and strategies that Nest makes, are not known.
 *
 * @example (await planOf(new OpenWallet(clock), { owner: 'ann' }, { shards, entities, key: 'acme' })).expectSingleShard()
 * @throws what `perform` throws, and what keeps the plan from being placed: `cross_tenant`, `no_placement`
 */
export async function planOf<Params, Result>(
  action: Action<Params, Result>,
  params: Params,
  { shards, entities, key }: PlanOptions,
): Promise<PlannedAction<Result>> {
  const traits = actionTraits(action.constructor);
  const offline = await offlinePlaces(settingsOf(shards, entities));
  const actionId = randomUUID();
  const plan = new ActionPlan();
  const perform = async () => action.perform(params, { plan, actionId, attempt: 1 });
  const result = await (key === undefined ? perform() : offline.context.runFor(key, perform));
  plan.close();
  const tenants = traits.allowCrossShard ? 'any' : traits.tenants;
  const placed = await placePlan(plan, { ...offline, actionId, key, tenants });
  return new PlannedAction(result, plan, placed);
}

function settingsOf(shards: PlanOptions['shards'], entities: PlanOptions['entities']) {
  const nowhere = shards.map(({ slots, ...shard }) => ({
    ...shard,
    ...(slots && { slots: [...slots] }),
    primaryUrl: `postgres://nobody@127.0.0.1:1/${shard.name}`,
  }));
  return resolveOptions({ database: { shards: nowhere as never }, entities: [...entities] });
}
