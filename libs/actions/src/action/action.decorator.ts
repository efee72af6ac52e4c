import { Injectable } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import type { Type } from '@nestjs/common';
import type { ActionContext } from './action-context.js';
import type { RetryPolicy } from '../executor/retry-policy.js';

/**
 * A unit of work. `perform` runs without a transaction: it reads, decides, and stages changes and events on the plan, which
 * the executor then writes in one transaction for each shard. It may run several times, so it has no effects of its own.
 */
export interface Action<Params, Result = void> {
  perform(params: Params, ctx: ActionContext): Promise<Result> | Result;
}

/** A class whose instances are actions; a provider of any module. */
export type ActionClass<Params, Result = unknown> = Type<Action<Params, Result>>;

/** What `@Action` takes. */
export interface ActionOptions {
  /** How it is called in the ledger, the journal and by `shardctl`. Default: the name of the class. It stays the same. */
  readonly name?: string;
  /** Instead of the module's. */
  readonly retry?: RetryPolicy;
  /** It may change rows of several shards: one transaction for each, with a journal. Default false. */
  readonly allowCrossShard?: boolean;
  /**
   * `own` (default): rows of the routing key's tenant only, or of one tenant where there is no routing key. `any`: of all.
   * Implied by `allowCrossShard`.
   */
  readonly tenants?: 'own' | 'any';
}

/** {@link ActionOptions} without gaps, but for the retry policy. */
export interface ActionTraits extends Omit<Required<ActionOptions>, 'retry'> {
  readonly retry: RetryPolicy | undefined;
}

const ACTION = Symbol.for('nestjs-sharding.action');

/** Makes a class an injectable action, for `ActionExecutor.execute(ActionClass, params)`. */
export function Action(options: ActionOptions = {}): ClassDecorator {
  return (target) => {
    Injectable()(target);
    Object.defineProperty(target, ACTION, { value: Object.freeze({ ...options }) });
  };
}

/** @throws ShardingError `invalid_options` for a class without `@Action` */
export function actionTraits(target: {
  readonly name: string;
  readonly [ACTION]?: ActionOptions;
}): ActionTraits {
  const options = Object.hasOwn(target, ACTION) ? target[ACTION] : undefined;
  if (!options) {
    throw new ShardingError('invalid_options', `${target.name} is no action: decorate it with @Action()`);
  }
  const { name = target.name, retry, allowCrossShard = false, tenants = 'own' } = options;
  return { name, retry, allowCrossShard, tenants };
}
